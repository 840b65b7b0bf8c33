import { readdirSync, readFileSync } from "node:fs";
import Docker from "dockerode";
import { ownerLabel } from "../../sandbox/docker/container.ts";

/** The resources of a process and its workers, on Linux. */
export interface ResourceUsage {
  /** Resident bytes of this process. */
  readonly rss: number;
  /** Resident bytes of the largest worker. */
  readonly workerRss: number;
  readonly processes: number;
  /** Open files of this process. */
  readonly files: number;
  readonly workersFiles: number;
  readonly containers: number;
}

/** Returns the current resources. Workers are the child processes or, for Docker, the processes of the containers. */
export async function resourceUsage(backend: string): Promise<ResourceUsage> {
  const containers = backend === "docker" ? await containersOf(process.pid) : [];
  const workers = workersOf(process.pid, containers);
  return {
    rss: process.memoryUsage.rss(),
    workerRss: Math.max(0, ...workers.map(residentBytes)),
    processes: workers.length,
    files: openFiles("self"),
    workersFiles: workers.reduce((total, pid) => total + openFiles(pid), 0),
    containers: containers.length,
  };
}

/** Returns the first processes of the containers that a process started. */
export async function containersOf(owner: number): Promise<number[]> {
  const docker = new Docker();
  const all = await docker.listContainers({ all: true, filters: { label: [ownerLabel] } });
  const owned = all.filter(({ Labels }) => JSON.parse(Labels[ownerLabel]!).pid === owner);
  const inspected = await Promise.all(owned.map(({ Id }) => docker.getContainer(Id).inspect()));
  return inspected.map(({ State }) => State.Pid);
}

/** Returns every descendant of a process, and every process in these containers. */
export function workersOf(pid: number, containers: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${name}/status`))?.[1]) : Number.NaN;
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = new Set([pid, ...containers]);
  for (const each of found) for (const child of children.get(each) ?? []) found.add(child);
  found.delete(pid);
  return [...found];
}

function residentBytes(pid: number): number {
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

function openFiles(pid: number | "self"): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
