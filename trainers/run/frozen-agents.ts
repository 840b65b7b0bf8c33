import type { AgentId } from "../../src/contract/action.ts";
import { fromErrorData, invalidConfig, LyceumError } from "../../src/contract/errors/index.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { SamplingSettings } from "../../src/contract/sampler.ts";
import type { PolicySpecification } from "../../src/core/policy/policy-specification.ts";
import { withSampling } from "../../src/core/policy/with-sampling.ts";

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
