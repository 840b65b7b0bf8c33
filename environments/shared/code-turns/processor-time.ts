import type { Limits } from "../../../sandbox/limits.ts";

/**
 * Returns the limits of code that may use some seconds of CPU time. The wall-clock limit is four times as long plus 2
 * seconds to start, for code that sleeps and for busy machines.
 */
export function processorTime(cpuSeconds: number): Pick<Limits, "cpuMs" | "wallMs"> {
  return { cpuMs: 1000 * cpuSeconds, wallMs: 4000 * cpuSeconds + 2000 };
}
