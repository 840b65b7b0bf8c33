import { readdirSync, readFileSync } from "node:fs";
import Docker from "dockerode";
import { ownerLabel } from "../../sandbox/docker/container.ts";
import { currentOwner } from "../../sandbox/docker/owner.ts";

/** A process as in /proc. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  /** One letter, such as `S` for sleeping and `Z` for ended. */
  readonly state: string;
}

/** Returns all processes of the machine that have not ended. */
export function processes(): ProcessEntry[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      const field = (key: string): string => new RegExp(`^${key}:\\s+(\\S+)`, "m").exec(status)![1]!;
      const state = field("State");
      return state === "Z"
        ? []
        : [{ pid: Number(name), parent: Number(field("PPid")), uid: Number(field("Uid")), state }];
    } catch {
      return [];
    }
  });
}

/** Returns the descendants of a process. */
export function descendants(root: number): ProcessEntry[] {
  const all = processes();
  const found: ProcessEntry[] = [];
  for (let parents = [root]; parents.length > 0; ) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map(({ pid }) => pid);
  }
  return found;
}

/** Returns the containers that this process started. */
export async function ownContainers(status: readonly string[] = []): Promise<readonly Docker.Container[]> {
  const docker = new Docker();
  const filters = { label: [`${ownerLabel}=${JSON.stringify(currentOwner())}`], status: [...status] };
  return (await docker.listContainers({ all: true, filters })).map(({ Id }) => docker.getContainer(Id));
}

/** Returns the processes in the containers that this process started. */
export async function containerProcesses(): Promise<readonly ProcessEntry[]> {
  const found = await Promise.allSettled((await ownContainers()).map((container) => container.inspect()));
  return found.flatMap((each) => {
    const pid = each.status === "fulfilled" ? each.value.State.Pid : 0;
    return pid === 0 ? [] : [{ pid, parent: 0, uid: 0, state: "S" }, ...descendants(pid)];
  });
}

/** Returns the processes of workers that are descendants of this process. */
export const ownProcesses = async (): Promise<readonly ProcessEntry[]> =>
  descendants(process.pid).filter(({ pid }) => /bwrap|python3|isolated-vm\/child|pyodide\/child/.test(commandOf(pid)));

/** Returns the command line of a process. Empty if it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
