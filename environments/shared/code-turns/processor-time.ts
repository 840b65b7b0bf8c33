import type { Limits } from "../../../sandbox/limits.ts";

/**
 * The limits of code that may use the processor for some seconds. A sleeper, or a busy machine, gets four times as long
 * as the processor may work, and a little to start.
 */
export function processorTime(cpuSeconds: number): Pick<Limits, "cpuMs" | "wallMs"> {
  return { cpuMs: 1000 * cpuSeconds, wallMs: 4000 * cpuSeconds + 2000 };
}
