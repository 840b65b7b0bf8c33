import type { AgentId } from "../src/contract/action.ts";
import { LyceumError, unknownNameError } from "../src/contract/errors/index.ts";
import type { Policy } from "../src/contract/policy.ts";
import type { SamplingSettings } from "../src/contract/sampler.ts";
import type { PolicySpecification } from "../src/core/policy/policy-specification.ts";
import { withSampling } from "../src/core/policy/with-sampling.ts";

/** Who plays an environment's agents in a run. */
interface AgentPolicies {
  /** The agents of the environment. */
  readonly agents: readonly AgentId[];
  /** The frozen agents: those that a given policy plays. */
  readonly frozen: readonly AgentId[];
  /** The agents with a model of their own (`agents.models`). */
  readonly models: readonly AgentId[];
}

/**
 * Refuses frozen agents that cannot be: `config.unknown-name` for one that the environment does not have, and
 * `config.invalid` if none is left to train or one has a model to train too.
 */
export function checkFrozenAgents({ agents, frozen, models }: AgentPolicies): void {
  const unknown = frozen.find((agent) => !agents.includes(agent));
  if (unknown !== undefined) throw unknownNameError({ kind: "agent", name: unknown, known: agents });
  const both = frozen.find((agent) => models.includes(agent));
  if (both !== undefined) {
    throw invalid(
      `The agent "${both}" has a model to train (agents.models) and a frozen policy (agents.policies).`,
      "Leave it out of one of them: out of agents.policies to train it, out of agents.models to freeze it.",
    );
  }
  if (agents.every((agent) => frozen.includes(agent))) {
    throw invalid(
      `No agent is left to train: every agent (${agents.join(", ")}) has a frozen policy.`,
      "Leave at least one agent out of agents.policies. To play without training, use lyceum eval or lyceum collect.",
    );
  }
}

/** The opened policies of the frozen agents. Throws `config.invalid` if the config names one that is not given. */
export function frozenPolicies(options: {
  readonly given: Readonly<Record<AgentId, Policy>>;
  readonly named: Readonly<Record<AgentId, PolicySpecification>>;
  /** How a frozen agent is asked, in training and in evaluation alike. */
  readonly sampling: SamplingSettings;
}): Readonly<Record<AgentId, Policy>> {
  const { given, named, sampling } = options;
  const missing = Object.keys(named).find((agent) => !Object.hasOwn(given, agent));
  if (missing !== undefined) {
    throw invalid(
      `agents.policies names a policy for "${missing}", and no opened policy is given for it.`,
      "A trainer opens no policies by name: open it, and give train({ policies: { ... } }) the policy. The command line does this.",
    );
  }
  return Object.fromEntries(Object.entries(given).map(([agent, policy]) => [agent, asPartner(policy, sampling)]));
}

/**
 * The policy of a frozen agent. It is asked with the same settings whether the others explore or play greedily. A
 * conversation that it cannot read to the end is its failure, which leaves the episode unscored: it says nothing of the
 * agents that learn.
 */
export function asPartner(policy: Policy, sampling: SamplingSettings): Policy {
  // Which tokens a partner drew from is nothing to train on.
  const asked = withSampling(policy, { ...sampling, supports: false });
  return {
    ...asked,
    act: async (request) => {
      try {
        return await asked.act(request);
      } catch (error) {
        if (!LyceumError.isInstance(error) || error.code !== "policy.prompt-too-long") throw error;
        throw new LyceumError({
          code: "policy.failed",
          message: `The frozen policy "${policy.name}" of agent "${request.agent}" cannot read so long a conversation: ${error.message}`,
          hint: "Freeze a model that takes more tokens, or lower sampling.maxTokens or rollout.limits.turns.",
          cause: error,
        });
      }
    },
  };
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
