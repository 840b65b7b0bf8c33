/** One measured number. */
export interface BenchmarkResult {
  /** `group/name`, such as `rollout/overhead-us`. */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The number to compare the value with, measured in the same run. */
  readonly baseline?: number;
  /** The interval that `lyceum plan` expected the value in. */
  readonly planned?: { readonly low: number; readonly middle: number; readonly high: number };
}

/** Measurements that are made together. */
export interface Benchmark {
  /** The prefix of the names of its results. */
  readonly prefix: string;
  run(): Promise<BenchmarkResult[]>;
  /** Returns the object that ends the output of `--json`. */
  summary?(results: readonly BenchmarkResult[]): Readonly<Record<string, unknown>>;
}
