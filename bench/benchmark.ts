/** One measured number. */
export interface BenchmarkResult {
  /** `group/name`, such as `rollout/overhead-us`. */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the value is to be compared with, measured in the same run. */
  readonly baseline?: number;
}

/** Measurements that are made together. */
export interface Benchmark {
  /** What the names of its results begin with. */
  readonly prefix: string;
  run(): Promise<BenchmarkResult[]>;
  /** One object that closes the output of `--json`. */
  summary?(results: readonly BenchmarkResult[]): Readonly<Record<string, unknown>>;
}
