/** What one execution may use; whatever goes beyond ends it with a status of its own. */
export interface Limits {
  /** Processor time of the candidate, in milliseconds, per case where each has a process of its own. */
  readonly cpuMs: number;
  /** Time from start to end, in milliseconds: a backstop for code that sleeps, since a busy machine runs slower. */
  readonly wallMs: number;
  readonly memoryMb: number;
  /** Bytes kept of stdout and of stderr each; more is dropped and marked `truncated`. */
  readonly outputBytes: number;
  /** Bytes of all returned values, encoded. */
  readonly resultBytes: number;
  readonly processes: number;
  readonly openFiles: number;
  /** Megabytes of files written. */
  readonly temporaryMb: number;
  /** Nesting of a returned value. */
  readonly depth: number;
}

/** The limits of an execution that names none. */
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
