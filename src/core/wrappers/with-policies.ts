import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, EnvironmentSpec } from "../../contract/environment.ts";
import { LyceumError, unknownNameError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import type { Reward } from "../../contract/reward.ts";
import { defaultSampling, type SamplingSettings } from "../../contract/sampler.ts";
import { SeatedEnvironment } from "./seated-environment.ts";

/** How seated policies are asked. */
export interface SeatOptions {
  /** Temperature 1 and at most 256 tokens an action by default. */
  readonly sampling?: SamplingSettings;
  /** The most milliseconds of one action of a seated policy; 120,000 by default. Fails the episode. */
  readonly actMs?: number;
  /** True where the policies always answer a request of the same seed alike; false by default. */
  readonly deterministic?: boolean;
}

/**
 * An environment in which policies sit in the seats of some agents: frozen opponents, simulated users, judges. The
 * other agents are left to the rollout, and only they are in the spec. A step plays on until one of them must act.
 *
 * A seated policy sees what its agent is shown and nothing else; what it earns is dropped. One that fails or takes too
 * long fails the episode, as a policy of the rollout would. Seeds derive from that of `reset`; the place of the task
 * and the member of the group are not known in an environment, and policies are told 0 for both. Demonstrations are
 * left out: an expert's partners are experts. Wrap the environment in `record` first to see what seated policies do.
 *
 * Throws `config.unknown-name` for an agent that there is not, `config.invalid` when no agent is left.
 */
export function withPolicies<Task>(
  environment: EnvironmentDefinition<Task>,
  policies: Readonly<Record<AgentId, Policy>>,
  options: SeatOptions = {},
): EnvironmentDefinition<Task> {
  const { sampling = defaultSampling, actMs = 120_000, deterministic = false } = options;
  const { spec: inner, splits } = environment;
  const unknown = Object.keys(policies).find((agent) => !inner.agents.includes(agent));
  if (unknown !== undefined) throw unknownNameError({ kind: "agent", name: unknown, known: inner.agents });
  const open = inner.agents.filter((agent) => !Object.hasOwn(policies, agent));
  if (open.length === 0) throw invalid("No agent is left to act.", "Leave one agent without a policy.");
  if (!(actMs > 0)) throw invalid(`actMs must be above 0, got ${actMs}.`, "Give Infinity to lift the limit.");
  const spec: EnvironmentSpec = { ...inner, agents: open, deterministic: inner.deterministic && deterministic };
  return {
    specificationVersion: "v1",
    spec,
    splits,
    tasks: (split, loading) => environment.tasks(split, loading),
    create: async () =>
      new SeatedEnvironment({ inner: await environment.create(), spec, policies: { ...policies }, sampling, actMs }),
    ...(environment.scoreGroup === undefined
      ? {}
      : {
          scoreGroup: async (group, scoring) => keepAgents(await environment.scoreGroup!(group, scoring), open),
        }),
  };
}

/** The rewards of a group without those of seated agents. */
function keepAgents(
  rewards: Readonly<Record<string, Readonly<Record<AgentId, Reward>>>>,
  agents: readonly AgentId[],
): Record<string, Record<AgentId, Reward>> {
  return Object.fromEntries(
    Object.entries(rewards).map(([episode, byAgent]) => [
      episode,
      Object.fromEntries(Object.entries(byAgent).filter(([agent]) => agents.includes(agent))),
    ]),
  );
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
