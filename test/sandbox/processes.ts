import { readdirSync, readFileSync } from "node:fs";

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
