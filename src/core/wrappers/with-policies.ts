import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError, unknownNameError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import type { Reward } from "../../contract/reward.ts";
import { defaultSampling, type SamplingSettings } from "../../contract/sampler.ts";
import { createInstance } from "../environment/checked-environment.ts";
import { EnvironmentWithPolicies } from "./environment-with-policies.ts";
import { passedThrough } from "./wrap-environment.ts";

/** The options of {@link withPolicies}. */
export interface WithPoliciesOptions {
  /** The sampling settings. Temperature 1 and at most 256 tokens per action by default. */
  readonly sampling?: SamplingSettings;
  /** The timeout of one action of a policy in milliseconds. 120,000 by default. A timeout fails the episode. */
  readonly actMs?: number;
  /** True if the policies always give the same answer for the same seed. False by default. */
  readonly deterministic?: boolean;
}

/**
 * Lets policies play some of the agents: frozen opponents, simulated users, judges. The rollout plays the other agents,
 * and only they are in the spec. A step continues until one of them must act.
 *
 * A policy sees only the observations of its agent. The rewards of its agent are dropped. If a policy fails or times
 * out, the episode fails. Seeds are derived from the seed of `reset`. An environment does not know the task index or
 * the index in the group, so policies receive 0 for both. Demonstrations are removed, because an expert's partners
 * would have to be experts. Folders of exported tasks are removed too, because their tests know no policies. To see what
 * these policies do, wrap the environment in `record` first.
 *
 * Throws `config.unknown-name` for an unknown agent, and `config.invalid` if no agent is left.
 */
export function withPolicies<Task>(
  environment: EnvironmentDefinition<Task>,
  policies: Readonly<Record<AgentId, Policy>>,
  options: WithPoliciesOptions = {},
): EnvironmentDefinition<Task> {
  const { sampling = defaultSampling, actMs = 120_000, deterministic = false } = options;
  const { spec: inner } = environment;
  const unknown = Object.keys(policies).find((agent) => !inner.agents.includes(agent));
  if (unknown !== undefined) throw unknownNameError({ kind: "agent", name: unknown, known: inner.agents });
  const open = inner.agents.filter((agent) => !Object.hasOwn(policies, agent));
  if (open.length === 0) throw invalid("No agent is left to act.", "Leave one agent without a policy.");
  if (!(actMs > 0)) throw invalid(`actMs must be above 0, got ${actMs}.`, "Use Infinity for no limit.");
  const passed = passedThrough(environment, (one) => ({
    agents: open,
    deterministic: one.deterministic && deterministic,
  }));
  const { spec } = passed;
  return {
    ...passed,
    create: async (given) =>
      new EnvironmentWithPolicies({
        inner: await createInstance(environment, given),
        spec,
        policies: { ...policies },
        sampling,
        actMs,
      }),
    scoreGroup:
      environment.scoreGroup &&
      (async (group, scoring) => keepAgents(await environment.scoreGroup!(group, scoring), open)),
  };
}

/** Removes the rewards of policy-played agents from the rewards of a group. */
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
