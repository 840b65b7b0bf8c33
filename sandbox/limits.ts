/** The limits of one execution. Each exceeded limit ends it with its own status. */
export interface Limits {
  /** Processor time of the candidate, in milliseconds. It applies per case if each case has its own process. */
  readonly cpuMs: number;
  /**
   * Wall time from start to end, in milliseconds. A backstop for code that sleeps, because a busy machine runs slower.
   */
  readonly wallMs: number;
  readonly memoryMb: number;
  /** Bytes that are kept of stdout and of stderr each. More is dropped and marked `truncated`. */
  readonly outputBytes: number;
  /** Bytes of all returned values, encoded. */
  readonly resultBytes: number;
  readonly processes: number;
  readonly openFiles: number;
  /** Megabytes of files written. */
  readonly temporaryMb: number;
  /** Maximum nesting of a returned value. */
  readonly depth: number;
}

/** The default limits of an execution. */
export const defaultLimits: Limits = {
  cpuMs: 2_000,
  wallMs: 10_000,
  memoryMb: 256,
  outputBytes: 65_536,
  resultBytes: 1_048_576,
  processes: 16,
  openFiles: 32,
  temporaryMb: 16,
  depth: 60,
};
