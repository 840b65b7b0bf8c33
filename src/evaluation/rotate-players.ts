import type { AgentId } from "../contract/action.ts";
import type { Policy } from "../contract/policy.ts";

/** Returns which player plays an agent in a sample. Both are indices. */
export function playerOfAgent(
  agent: number,
  options: { readonly sampleIndex: number; readonly players: number },
): number {
  return (agent + options.sampleIndex) % options.players;
}

/** One policy for all agents, or one per agent by name. */
type Player = Policy | Readonly<Record<AgentId, Policy>>;

/** Rotates players between agents: player i plays agent i in sample 0, player i + 1 plays agent i in sample 1, ... */
export function rotatePlayers(agents: readonly AgentId[], players: readonly Player[]): Record<AgentId, Policy> {
  return Object.fromEntries(
    agents.map((agent, index) => [
      agent,
      rotated(index, { policies: players.map((player) => policyOf(player, agent)) }),
    ]),
  );
}

function policyOf(player: Player, agent: AgentId): Policy {
  return "act" in player && typeof player.act === "function"
    ? (player as Policy)
    : (player as Record<AgentId, Policy>)[agent]!;
}

/** Returns the policy of an agent. It calls the policy of the player that plays the agent in the request's sample. */
function rotated(agent: number, { policies }: { readonly policies: readonly Policy[] }): Policy {
  const [first, ...others] = policies as readonly [Policy, ...Policy[]];
  const batching = policies.filter((policy) => policy.flush !== undefined);
  return {
    specificationVersion: "v1",
    name: policies.map((policy) => policy.name).join(" and "),
    accepts: first.accepts.filter((type) => others.every((policy) => policy.accepts.includes(type))),
    act: (request) => {
      const sampleIndex = request.episode?.sampleIndex ?? 0;
      return policies[playerOfAgent(agent, { sampleIndex, players: policies.length })]!.act(request);
    },
    ...(batching.length === 0 ? {} : { flush: () => batching.forEach((policy) => void policy.flush!()) }),
  };
}
