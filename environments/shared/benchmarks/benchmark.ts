import type { CorrectRule } from "../../../src/contract/correct-rule.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Json } from "../../../src/contract/json.ts";
import type { SamplingSettings } from "../../../src/contract/sampler.ts";
import type { OpenNamedPolicy } from "../../../src/core/environment/registry.ts";

/**
 * How a task is presented to a model. `chat` is a conversation, with worked examples as earlier turns. `completion` is
 * one text that the model continues, with worked examples before it. Base models are usually measured with
 * `completion`.
 */
export type FormatName = "chat" | "completion";

/** The options of {@link Benchmark.open}. */
export interface BenchmarkOptions {
  /** Options of the environment, in addition to those that the benchmark sets. */
  readonly set: Readonly<Record<string, Json>>;
  readonly format: FormatName;
  /** The number of worked examples in the prompt. Defaults to the format's published number. */
  readonly shots: number;
  /** Opens the policies that options of the environment name. Without it, such options are rejected. */
  readonly openPolicy?: OpenNamedPolicy;
  readonly signal?: AbortSignal;
}

/** A named benchmark: an environment, its options, and the settings of its measurement. */
export interface Benchmark {
  readonly id: string;
  readonly description: string;
  /** The evaluated split. */
  readonly split: string;
  /** The supported formats, the default one first, with their number of worked examples. */
  readonly formats: Readonly<Partial<Record<FormatName, BenchmarkFormat>>>;
  readonly maxTokens: number;
  /** Which episodes are correct, or null if correctness is not defined. */
  readonly correct: CorrectRule | null;
  /**
   * Whether the policies swap roles. With `fixed`, the opponent keeps one role of the environment. Defaults to
   * `rotating`.
   */
  readonly roles?: "fixed" | "rotating";
  /** True if the environment has the option `judge`. */
  readonly isJudged?: boolean;
  /** Creates the environment. Throws `config.invalid` for unknown options. */
  open(options: BenchmarkOptions): Promise<EnvironmentDefinition>;
}

/** A format of a benchmark. */
export interface BenchmarkFormat {
  /** The published number of worked examples. */
  readonly shots: number;
  /** True if the number of worked examples may be changed. */
  readonly anyShots?: boolean;
  /** The stop sequences of a completion. */
  readonly stop?: SamplingSettings["stop"];
}

/** Defines a benchmark. By default it evaluates the split `test`, and has the format `chat` without worked examples. */
export function defineBenchmark(
  benchmark: Omit<Benchmark, "split" | "formats"> & Partial<Pick<Benchmark, "split" | "formats">>,
): Benchmark {
  return { split: "test", formats: { chat: { shots: 0 } }, ...benchmark };
}
