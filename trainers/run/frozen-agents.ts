import type { AgentId } from "../../src/contract/action.ts";
import { fromErrorData, invalidConfig, LyceumError, unknownNameError } from "../../src/contract/errors/index.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { SamplingSettings } from "../../src/contract/sampler.ts";
import type { PolicySpecification } from "../../src/core/policy/policy-specification.ts";
import { withSampling } from "../../src/core/policy/with-sampling.ts";

/** Which agents of an environment are frozen, and which have their own model. */
interface AgentPolicies {
  /** The agents of the environment. */
  readonly agents: readonly AgentId[];
  /** The frozen agents. A given policy plays each. */
  readonly frozen: readonly AgentId[];
  /** The agents with their own model (`agents.models`). */
  readonly models: readonly AgentId[];
}

/**
 * Throws `config.unknown-name` if the environment does not have a frozen agent. Throws `config.invalid` if no agent is
 * left to train, or if a frozen agent also has a model to train.
 */
export function checkFrozenAgents({ agents, frozen, models }: AgentPolicies): void {
  const unknown = frozen.find((agent) => !agents.includes(agent));
  if (unknown !== undefined) throw unknownNameError({ kind: "agent", name: unknown, known: agents });
  const both = frozen.find((agent) => models.includes(agent));
  if (both !== undefined) {
    throw invalidConfig(
      `The agent "${both}" has both a model to train (agents.models) and a frozen policy (agents.policies).`,
      "Remove it from agents.policies to train it, or from agents.models to freeze it.",
    );
  }
  if (agents.every((agent) => frozen.includes(agent))) {
    throw invalidConfig(
      `No agent is left to train: every agent (${agents.join(", ")}) has a frozen policy.`,
      "Remove at least one agent from agents.policies. To play without training, use lyceum eval or lyceum collect.",
    );
  }
}

/**
 * Returns the policies of the frozen agents. Throws `config.invalid` if the config names a policy that is not given.
 */
export function frozenPolicies(options: {
  readonly given: Readonly<Record<AgentId, Policy>>;
  readonly named: Readonly<Record<AgentId, PolicySpecification>>;
  /** The sampling settings of frozen agents, in training and in evaluations. */
  readonly sampling: SamplingSettings;
}): Readonly<Record<AgentId, Policy>> {
  const { given, named, sampling } = options;
  const missing = Object.keys(named).find((agent) => !Object.hasOwn(given, agent));
  if (missing !== undefined) {
    throw invalidConfig(
      `agents.policies names a policy for "${missing}", but no opened policy is given for it.`,
      "train() does not open policies by name. Open the policy and pass it as train({ policies: { ... } }), as the command line does.",
    );
  }
  return Object.fromEntries(
    Object.entries(given).map(([agent, policy]) => [agent, frozenAgentPolicy(policy, sampling)]),
  );
}

/**
 * Wraps the policy of a frozen agent. It uses the same sampling settings whether the others explore or play greedily.
 * If a conversation is too long for it, or its program fails, the episode is unscored, because the trained agents did
 * not cause this.
 */
export function frozenAgentPolicy(policy: Policy, sampling: SamplingSettings): Policy {
  // The supports of a frozen policy are not needed: its tokens are not trained on.
  const withSettings = withSampling(policy, { ...sampling, supports: false });
  return {
    ...withSettings,
    act: async (request) => {
      try {
        const result = await withSettings.act(request);
        if (result.failure !== undefined) throw fromErrorData(result.failure);
        return result;
      } catch (error) {
        if (!LyceumError.isInstance(error) || error.code !== "policy.prompt-too-long") throw error;
        throw new LyceumError({
          code: "policy.failed",
          message: `The frozen policy "${policy.name}" of agent "${request.agent}" cannot read the conversation, because it is too long: ${error.message}`,
          hint: "Use a frozen model with a larger context, or lower sampling.maxTokens or rollout.limits.turns.",
          cause: error,
        });
      }
    },
  };
}
