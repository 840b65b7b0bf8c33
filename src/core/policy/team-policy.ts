import type { AgentId } from "../../contract/action.ts";
import { unknownNameError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";

/**
 * Creates one policy that forwards each request to the policy of its agent. Rejects with `config.unknown-name` for
 * other agents.
 */
export function teamPolicy(policies: Readonly<Record<AgentId, Policy>>): Policy {
  const all = [...new Set(Object.values(policies))];
  return {
    specificationVersion: "v1",
    name: Object.entries(policies)
      .map(([agent, { name }]) => `${agent}: ${name}`)
      .join(", "),
    accepts: (all[0]?.accepts ?? []).filter((part) => all.every(({ accepts }) => accepts.includes(part))),
    act: async (request) => {
      const policy = Object.hasOwn(policies, request.agent) ? policies[request.agent]! : undefined;
      if (policy !== undefined) return policy.act(request);
      throw unknownNameError({ kind: "agent", name: request.agent, known: Object.keys(policies) });
    },
    ...(all.some(({ flush }) => flush !== undefined)
      ? {
          flush: () => {
            for (const policy of all) policy.flush?.();
          },
        }
      : {}),
    close: async () => {
      for (const policy of all) await policy.close?.();
    },
  };
}
