import type { CorrectRule } from "../../../src/contract/correct-rule.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Json } from "../../../src/contract/json.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { SamplingSettings } from "../../../src/contract/sampler.ts";
import type { OpenNamedPolicy } from "../../../src/core/environment/registry.ts";

/**
 * How tasks are put to a model. `chat`: a conversation, worked examples as earlier turns. `completion`: one text that
 * the model goes on with, worked examples before it, as base models are measured.
 */
export type FormatName = "chat" | "completion";

/** What a benchmark can be told. */
export interface BenchmarkOptions {
  /** Options of its environment, beside those that the benchmark sets itself. */
  readonly set: Readonly<Record<string, Json>>;
  readonly format: FormatName;
  /** Worked examples in the prompt; the format's published number by default. */
  readonly shots: number;
  /** Who judges where a model does. */
  readonly judge?: Policy;
  /** Opens the policies that options of the environment name; without it such options are refused. */
  readonly openPolicy?: OpenNamedPolicy;
  readonly signal?: AbortSignal;
}

/** A benchmark by name: an environment, what it is made from, and how it is measured. */
export interface Benchmark {
  readonly name: string;
  readonly description: string;
  /** The split that is measured. */
  readonly split: string;
  /** The formats that it has, the default first, with their number of worked examples. */
  readonly formats: Readonly<Partial<Record<FormatName, BenchmarkFormat>>>;
  readonly maxTokens: number;
  /** Which episodes are right; null where none is right or wrong. */
  readonly correct: CorrectRule | null;
  /** `fixed`: an opponent has a seat of its own, and nobody changes seats; `rotating` by default. */
  readonly seats?: "fixed" | "rotating";
  /** Makes the environment. Throws `config.invalid` for options that it does not have. */
  open(options: BenchmarkOptions): Promise<EnvironmentDefinition>;
}

/** A format of a benchmark. */
export interface BenchmarkFormat {
  /** The published number of worked examples. */
  readonly shots: number;
  /** The number of worked examples can be another. */
  readonly anyShots?: boolean;
  /** What ends a completion. */
  readonly stop?: SamplingSettings["stop"];
}
