import type { AgentId } from "../src/contract/action.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Policy } from "../src/contract/policy.ts";
import { samplingSettings, type TrainingConfig } from "./config/training-config.ts";
import { asPartner } from "./frozen-agents.ts";

/**
 * The policy that the model meets in evaluations, asked with the settings in `sampling`; undefined if there is none.
 * Throws `config.invalid` if the config names one that is not given, or if the environment has no agent for it.
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
    throw invalid(
      `evaluation.opponent needs an environment of two agents, and "${id}" has ${agents.length}.`,
      "Leave evaluation.opponent out.",
    );
  }
  if (frozen.length > 0) {
    throw invalid(
      `evaluation.opponent plays both agents in turn, and agents.policies says who plays "${frozen[0]}".`,
      "Leave one of them out. The policies in agents.policies play in evaluations too.",
    );
  }
  if (split === undefined) {
    throw invalid("There is an evaluation.opponent and no evaluation.", "Name held-out tasks: evaluation.split: test.");
  }
  if (given === undefined) {
    throw invalid(
      "evaluation.opponent names a policy, and no opened policy is given.",
      "A trainer opens no policies by name: open it, and give train({ opponent }) the policy. The command line does this.",
    );
  }
  return asPartner(given, samplingSettings(config.sampling));
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
