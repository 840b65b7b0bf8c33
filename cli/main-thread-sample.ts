import { readFileSync } from "node:fs";
import type { ThreadSample } from "./held-time.ts";

/**
 * Samples the main thread from another thread, without interrupting it. Where the system does not report single threads
 * (anywhere but on Linux), the processor time is that of the whole process, and waits are unknown.
 */
export function sampleMainThread(): Omit<ThreadSample, "progress"> {
  // Read first: a delay before the other reads then counts in the next interval.
  const at = performance.now();
  if (process.platform === "linux") {
    const thread = `/proc/self/task/${process.pid}`;
    try {
      const [computed, waited] = readFileSync(`${thread}/schedstat`, "utf8")
        .split(" ")
        .map((ns) => Number(ns) / 1e6);
      // The name of the program comes first, in parentheses that it may contain itself.
      const state = readFileSync(`${thread}/stat`, "utf8").replace(/^.*\) /s, "")[0];
      return { at, computed: computed!, waited: waited!, sleeping: state === "S" };
    } catch {
      // The kernel does not keep these statistics.
    }
  }
  const { user, system } = process.cpuUsage();
  return { at, computed: (user + system) / 1000, waited: 0, sleeping: false };
}
