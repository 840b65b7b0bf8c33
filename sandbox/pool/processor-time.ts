import { readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second for programs. */
const tickMs = 10;

/**
 * Returns the processor time that a process, its descendants and their ended children have used, in milliseconds.
 * Undefined if the system does not tell, or if the process has ended.
 */
export function processorTimeOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  try {
    // After the name, which may contain spaces: fields 14 to 17 of the whole line.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    const own = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * tickMs;
    return childrenOf(pid).reduce((sum, child) => sum + (processorTimeOf(child) ?? 0), own);
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Returns how many processes the kernel killed on the machine because memory was used up. 0 if it does not tell. */
export function machineOomKills(): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync("/proc/vmstat", "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
