import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies one process for as long as its machine runs, so that another can tell whether it is still there. */
export interface Owner {
  /** The machine since its last start, or its name where it has no such id. */
  readonly boot: string;
  /** Process ids mean something in one namespace only. */
  readonly namespace: string;
  readonly pid: number;
  /** When the process began, in the kernel's own count: ids are used again. */
  readonly started: string;
}

/** This process. */
export function currentOwner(): Owner {
  return { ...here(), pid: process.pid, started: startOf(process.pid) ?? "" };
}

/** True only where the owner certainly is no more: another machine's, or another namespace's, may well live. */
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

/** The 22nd field of its status; the second, its name, may hold spaces and brackets. */
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
