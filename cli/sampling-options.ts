import { type Command, InvalidArgumentError } from "commander";
import type { SamplingSettings } from "../src/contract/sampler.ts";
import type { RolloutLimits } from "../src/core/rollout/rollout-limits.ts";
import { withoutUndefined } from "../src/core/without-undefined.ts";
import { append, finite, positive } from "./option-values.ts";
import type { PolicySettings } from "./policy-settings.ts";

/** The sampling settings and episode limits of a command line. */
export interface SamplingArguments {
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly stop?: readonly string[];
  /** The limits of an episode: its turns, the tokens that an agent samples, and its duration in seconds. */
  readonly limitTurns?: number;
  readonly limitTokens?: number;
  readonly limitSeconds?: number;
}

/** Adds the options of {@link SamplingArguments} to a command. */
export function addSamplingOptions(command: Command): void {
  const share = (value: string): number => {
    const number = finite(value);
    if (number >= 0 && number <= 1) return number;
    throw new InvalidArgumentError("Expected a number from 0 to 1.");
  };
  const positiveShare = (value: string): number => {
    if (share(value) > 0) return Number(value);
    throw new InvalidArgumentError("Expected a number above 0 and up to 1.");
  };
  const seconds = (value: string): number => {
    if (finite(value) > 0) return Number(value);
    throw new InvalidArgumentError("Expected a number above 0.");
  };
  const texts = (value: string, before: readonly string[] | undefined): string[] => {
    if (value === "") throw new InvalidArgumentError("Expected a nonempty text.");
    return append(value, before);
  };
  command
    .option("--top-p <p>", "keep the most likely tokens whose total probability reaches p", positiveShare)
    .option("--top-k <k>", "keep the k most likely tokens", positive)
    .option("--min-p <p>", "keep tokens whose probability is at least this fraction of the highest one", share)
    .option("--stop <text>", "a stop sequence: a completion ends before this text; repeatable", texts)
    .option("--limit-turns <n>", "the maximum number of turns of an episode", positive)
    .option("--limit-tokens <n>", "the maximum number of tokens that an agent samples in an episode", positive)
    .option("--limit-seconds <s>", "the maximum duration of an episode in seconds", seconds);
}

/** Returns the sampling settings of a command line. Contains only the given ones. */
export function samplingOf({ topP, topK, minP, stop }: SamplingArguments): Partial<SamplingSettings> {
  return withoutUndefined({ topP, topK, minP, stop });
}

/**
 * Returns the limits of a command line, which take precedence over those of the model's policy file. Returns undefined
 * if there are none.
 */
export function limitsOf(
  { limitTurns, limitTokens, limitSeconds }: SamplingArguments,
  file: PolicySettings["limits"] = {},
): Partial<RolloutLimits> | undefined {
  const seconds = limitSeconds ?? file.seconds;
  const limits = withoutUndefined({
    turns: limitTurns ?? file.turns,
    tokens: limitTokens ?? file.tokens,
    episodeMs: seconds && seconds * 1000,
  });
  return Object.keys(limits).length === 0 ? undefined : limits;
}
