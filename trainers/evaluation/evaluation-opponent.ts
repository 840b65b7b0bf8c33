import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { frozenAgentPolicy } from "../run/frozen-agents.ts";

/**
 * Returns the policy that the model plays against in evaluations, with the settings in `sampling`. Returns undefined if
 * there is none. Throws `config.invalid` if the config names an opponent that is not given, or if the environment does
 * not have exactly two agents.
 */
export function evaluationOpponent(options: {
  readonly given: Policy | undefined;
  readonly config: TrainingConfig;
  readonly environment: EnvironmentDefinition;
  /** The agents that are not trained. */
  readonly frozen: readonly AgentId[];
}): Policy | undefined {
  const { given, config, environment, frozen } = options;
  const { opponent, split } = config.evaluation;
  if (given === undefined && opponent === undefined) return undefined;
  const { agents, id } = environment.spec;
  if (agents.length !== 2) {
    throw invalidConfig(
      `evaluation.opponent needs an environment with two agents, but "${id}" has ${agents.length}.`,
      "Remove evaluation.opponent.",
    );
  }
  if (frozen.length > 0) {
    throw invalidConfig(
      `evaluation.opponent plays both agents in turn, but agents.policies names the policy of "${frozen[0]}".`,
      "Remove one of them. The policies in agents.policies also play in evaluations.",
    );
  }
  if (split === undefined) {
    throw invalidConfig(
      "There is an evaluation.opponent, but no evaluation.",
      "Name held-out tasks: evaluation.split: test.",
    );
  }
  if (given === undefined) {
    throw invalidConfig(
      "evaluation.opponent names a policy, but no opened policy is given.",
      "train() does not open policies by name. Open the policy and pass it as train({ opponent }), as the command line does.",
    );
  }
  return frozenAgentPolicy(given, config.sampling);
}
