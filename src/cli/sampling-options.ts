import { type Command, InvalidArgumentError } from "commander";
import type { SamplingSettings } from "../contract/sampler.ts";
import type { RolloutLimits } from "../core/rollout/rollout-limits.ts";
import type { PolicySettings } from "./policy-settings.ts";

/** How answers are drawn, and what bounds an episode, as a command line says it. */
export interface SamplingArguments {
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly stop?: readonly string[];
  /** The most turns of an episode, tokens that an agent samples in it, and seconds that it takes. */
  readonly limitTurns?: number;
  readonly limitTokens?: number;
  readonly limitSeconds?: number;
}

/** Adds the options of {@link SamplingArguments} to a command. */
export function addSamplingOptions(
  command: Command,
  { positive, finite }: { readonly positive: (value: string) => number; readonly finite: (value: string) => number },
): void {
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
    if (value === "") throw new InvalidArgumentError("Expected a text.");
    return [...(before ?? []), value];
  };
  command
    .option("--top-p <p>", "keep the likeliest tokens whose probability reaches p", positiveShare)
    .option("--top-k <k>", "keep the k likeliest tokens", positive)
    .option("--min-p <p>", "keep tokens at least this fraction as likely as the likeliest", share)
    .option("--stop <text>", "end an answer before this text; repeatable", texts)
    .option("--limit-turns <n>", "end an episode after so many turns", positive)
    .option("--limit-tokens <n>", "end an episode when an agent has sampled so many tokens in it", positive)
    .option("--limit-seconds <s>", "end an episode after so much time", seconds);
}

/** The sampling settings of a command line, without those that it leaves out. */
export function samplingOf({ topP, topK, minP, stop }: SamplingArguments): Partial<SamplingSettings> {
  return {
    ...(topP === undefined ? {} : { topP }),
    ...(topK === undefined ? {} : { topK }),
    ...(minP === undefined ? {} : { minP }),
    ...(stop === undefined ? {} : { stop }),
  };
}

/** The limits of a command line, over those of its model's policy file; undefined if neither has any. */
export function limitsOf(
  { limitTurns, limitTokens, limitSeconds }: SamplingArguments,
  file: PolicySettings["limits"] = {},
): Partial<RolloutLimits> | undefined {
  const {
    turns = file.turns,
    tokens = file.tokens,
    seconds = file.seconds,
  } = {
    turns: limitTurns,
    tokens: limitTokens,
    seconds: limitSeconds,
  };
  const limits = {
    ...(turns === undefined ? {} : { turns }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(seconds === undefined ? {} : { episodeMs: seconds * 1000 }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}
