import { createRegistry, type Registry } from "../../../src/core/registry.ts";
import type { Benchmark } from "./benchmark.ts";
import {
  classEvalBenchmark,
  coopHumanEvalBenchmark,
  humanEvalBenchmark,
  mbppBenchmark,
  multiplEJavascriptBenchmark,
  multiplETypescriptBenchmark,
} from "./code-benchmarks.ts";
import { debateBenchmark, toolsBenchmark, winRateBenchmark, writingBenchmark } from "./environment-benchmarks.ts";
import { gsm8kBenchmark, mathBenchmark } from "./math-benchmarks.ts";

export {
  type Benchmark,
  type BenchmarkFormat,
  type BenchmarkOptions,
  defineBenchmark,
  type FormatName,
} from "./benchmark.ts";

/** The benchmarks that come with Lyceum. */
export const benchmarks: Registry<Benchmark> = createRegistry("benchmark", [
  humanEvalBenchmark,
  mbppBenchmark,
  multiplEJavascriptBenchmark,
  multiplETypescriptBenchmark,
  coopHumanEvalBenchmark,
  classEvalBenchmark,
  gsm8kBenchmark,
  mathBenchmark,
  toolsBenchmark,
  debateBenchmark,
  writingBenchmark,
  winRateBenchmark,
]);
