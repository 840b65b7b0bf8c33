import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { frozenAgentPolicy } from "../run/frozen-agents.ts";

/** Throws `config.invalid` if the environment does not have exactly two agents to play, or if there is no evaluation. */
export function checkEvaluationOpponent(options: {
  readonly config: TrainingConfig;
  readonly environment: EnvironmentDefinition;
  /** The agents that are not trained. */
  readonly frozen: readonly AgentId[];
}): void {
  const { config, environment, frozen } = options;
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
  if (config.evaluation.split === undefined) {
    throw invalidConfig(
      "There is an evaluation.opponent, but no evaluation.",
      "Name held-out tasks: evaluation.split: test.",
    );
  }
}

/**
 * Returns the policy that the model plays against in evaluations, with the settings in `sampling`. Returns undefined if
 * there is none. Throws `config.invalid` as {@link checkEvaluationOpponent}, and if the config names an opponent that is
 * not given.
 */
export function evaluationOpponent(
  options: Parameters<typeof checkEvaluationOpponent>[0] & { readonly given: Policy | undefined },
): Policy | undefined {
  const { given, config } = options;
  if (given === undefined && config.evaluation.opponent === undefined) return undefined;
  checkEvaluationOpponent(options);
  if (given === undefined) {
    throw invalidConfig(
      "evaluation.opponent names a policy, but no opened policy is given.",
      "train() does not open policies by name. Open the policy and pass it as train({ opponent }), as the command line does.",
    );
  }
  return frozenAgentPolicy(given, config.sampling);
}
