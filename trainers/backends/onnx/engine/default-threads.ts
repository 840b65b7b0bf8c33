import { availableParallelism } from "node:os";

/**
 * Returns the default number of threads of the CPU provider: `OMP_NUM_THREADS`, as in PyTorch and NumPy, or one for
 * each available core. Ignores a value that is not a whole number above 0. Of a list, the first number counts.
 */
export function defaultThreads(variables: Readonly<Record<string, string | undefined>> = process.env): number {
  const [, asked] = /^\s*(\d{1,4})\s*(?:,|$)/.exec(variables.OMP_NUM_THREADS ?? "") ?? [];
  return Number(asked) || availableParallelism();
}
