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

export type { Benchmark, BenchmarkFormat, BenchmarkOptions, FormatName } from "./benchmark.ts";

/** Every benchmark that comes with Lyceum. */
export const benchmarks: readonly Benchmark[] = [
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
];
