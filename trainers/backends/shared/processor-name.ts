import { cpus } from "node:os";

/** Returns what a run records of the processor that computes it: its name and the number of threads. */
export function processorName(threads: number): string {
  return `${cpus()[0]?.model ?? "a processor"}, ${threads} ${threads === 1 ? "thread" : "threads"}`;
}
