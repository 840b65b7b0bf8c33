import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies a process on its machine, so that another process can check if it is still running. */
export interface Owner {
  /** The id of the machine's last boot, or the machine's name if it has no boot id. */
  readonly boot: string;
  /** The process id namespace. Process ids are unique only within one namespace. */
  readonly namespace: string;
  readonly pid: number;
  /** The start time of the process in kernel ticks. It is needed because process ids are reused. */
  readonly started: string;
}

/** Returns the identity of this process. */
export function currentOwner(): Owner {
  return { ...here(), pid: process.pid, started: startOf(process.pid) ?? "" };
}

/** True only if the owner has certainly ended. Owners on another machine or in another namespace count as alive. */
export function isDead(owner: Owner): boolean {
  const { boot, namespace } = here();
  if (owner.boot !== boot || owner.namespace !== namespace) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const started = startOf(owner.pid);
  return started !== undefined && started !== owner.started;
}

function here(): Pick<Owner, "boot" | "namespace"> {
  return {
    boot: attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? hostname(),
    namespace: attempt(() => readlinkSync("/proc/self/ns/pid")) ?? "",
  };
}

/** Reads the 22nd field of the process's status. The second field, the name, may contain spaces and brackets. */
function startOf(pid: number): string | undefined {
  return attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ")[19]);
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
