import { constants, readFileSync, statSync } from "node:fs";
import { copyFile, link, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LyceumError } from "../../contract/errors/index.ts";
import { writeFailed } from "../../contract/errors/write-failed.ts";
import { tryParseJson } from "../../contract/json.ts";
import { contentHash } from "../taskset/content-hash.ts";
import { makeFolder } from "./make-folder.ts";

/** The process that writes a run, as stored in `run.lock`. */
interface LockOwner {
  /** The id of this lock. */
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /**
   * The start time of the process, in the units of its system. Distinguishes it from a later process with the same pid.
   */
  readonly started?: string;
}

/** Returns the path of the lock of a run folder. */
export function lockPath(folder: string): string {
  return join(folder, "run.lock");
}

/**
 * Returns the path of the lock of a run's metrics. A training takes both locks. A recorder of metrics takes only this
 * one.
 */
function metricsLockPath(folder: string): string {
  return join(folder, "metrics.lock");
}

/**
 * Returns whether the process that writes the run in a folder is `alive`, `gone` (it ended, or it was killed and left
 * its lock) or `elsewhere` (on another machine, where it cannot be checked).
 */
export function runWriter(folder: string): "alive" | "gone" | "elsewhere" {
  const writers = [lockPath(folder), metricsLockPath(folder)].map(lockOwner);
  return writers.find((writer) => writer !== "gone") ?? "gone";
}

function lockOwner(lock: string): "alive" | "gone" | "elsewhere" {
  const owner = readLock(lock);
  if (typeof owner?.pid !== "number") return "gone";
  if (owner.host !== hostname()) return "elsewhere";
  return isAlive(owner) ? "alive" : "gone";
}

/**
 * Reads synchronously: a list of thousands of runs reads the locks of each, and asynchronous reads take ten times as
 * long.
 */
function readLock(lock: string): LockOwner | undefined {
  try {
    // A read of a pipe would wait for its writer.
    if (statSync(lock, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
    return tryParseJson<LockOwner>(readFileSync(lock, "utf8"));
  } catch {
    return undefined;
  }
}

/** How often, and after how many milliseconds, to retry a lock that another process takes over at the same time. */
const [attempts, waitMs] = [20, 10];

/** The lock to take, and its name in errors. */
interface WantedLock {
  readonly lock: string;
  /** The folder of the lock. It is created if it is missing, and removed again if nothing else is in it. */
  readonly folder: string;
  /** What the lock protects, such as `The run in runs/train`. */
  readonly what: string;
}

/**
 * Locks the run in a folder, so that no other process, and no other run of this process, writes it. Creates the folder
 * if it is missing. Takes over the lock of a dead process. Rejects with `config.invalid` if the run is being written. A
 * lock from another machine counts as such, because its process cannot be checked. Rejects with `trace.write-failed` if
 * the folder cannot be written. Dispose of the lock after all is written.
 */
export async function lockRun(folder: string): Promise<AsyncDisposable> {
  return takeLock({ lock: lockPath(folder), folder, what: `The run in ${folder}` });
}

/** Locks the metrics of a run, like {@link lockRun}. Use it if the training itself has locked the run. */
export async function lockMetrics(folder: string): Promise<AsyncDisposable> {
  return takeLock({ lock: metricsLockPath(folder), folder, what: `The run in ${folder}` });
}

/** Locks a file, like {@link lockRun}, with a lock file next to it. */
export async function lockFile(path: string): Promise<AsyncDisposable> {
  return takeLock({ lock: `${path}.lock`, folder: dirname(path), what: `The file ${path}` });
}

async function takeLock(wanted: WantedLock): Promise<AsyncDisposable> {
  const { lock, folder } = wanted;
  const id = crypto.randomUUID();
  const text = `${JSON.stringify({ id, ...thisProcess() } satisfies LockOwner)}\n`;
  // The file is written first and then linked, so that no reader ever sees a part of a lock.
  const own = `${lock}.${thisMachine()}-${process.pid}-${id}`;
  let made: string | undefined;
  const takenLock = async (): Promise<AsyncDisposable> => {
    await removeLeftovers(lock);
    return {
      [Symbol.asyncDispose]: async () => {
        await release(lock, text);
        await removeEmpty(folder, made);
      },
    };
  };
  try {
    made = await makeFolder(folder);
    await writeFile(own, text);
    let found: string | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await setTimeout(waitMs);
      if (await linkFile(own, lock)) return await takenLock();
      found = await readFile(lock, "utf8").catch(() => undefined);
      if (found === undefined) continue;
      if (isAlive(tryParseJson<LockOwner>(found))) break;
      if (await takeOver(lock, { own, dead: found })) return await takenLock();
    }
    throw busy(wanted, found);
  } catch (error) {
    throw writeFailed({ path: folder, cause: error, what: `The folder ${folder}` });
  } finally {
    await rm(own, { force: true }).catch(() => undefined);
  }
}

/** A file of another machine that is not a complete lock may still be being written if it is younger than this. */
const writtenMs = 60_000;

/**
 * The end of the name of a file that exists only while a lock is taken: a part of a hash, or {@link thisMachine}, a
 * process id and the id of a lock.
 */
const leftoverName = /^(?:[0-9a-f]{12}|(?<machine>[0-9a-f]{8})-(?<pid>\d+)-[0-9a-f-]{36})$/;

/** Identifies this machine in file names. */
function thisMachine(): string {
  return contentHash(hostname()).slice(0, 8);
}

/** Removes the files of processes that were killed while they took the lock. Never fails. */
async function removeLeftovers(lock: string): Promise<void> {
  const prefix = `${basename(lock)}.`;
  for (const name of await readdir(dirname(lock)).catch(() => [])) {
    const found = name.startsWith(prefix) ? leftoverName.exec(name.slice(prefix.length)) : null;
    if (found === null) continue;
    const path = join(dirname(lock), name);
    if (await isLeftover(path, found.groups!)) await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Returns true if no process can still need the file. A killed process may leave it empty, so its name counts too. */
async function isLeftover(path: string, { machine, pid }: Record<string, string | undefined>): Promise<boolean> {
  const owner = readLock(path);
  if (owner !== undefined) return !isAlive(owner);
  if (machine === thisMachine()) return !isAlive({ id: "", pid: Number(pid), host: hostname() });
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
  return Date.now() - mtimeMs > writtenMs;
}

/** Removes the empty folders from `folder` up to the first one that was created. */
async function removeEmpty(folder: string, made: string | undefined): Promise<void> {
  if (made === undefined) return;
  for (let path = resolve(folder); path.length >= made.length; path = dirname(path)) {
    if (
      !(await rmdir(path).then(
        () => true,
        () => false,
      ))
    )
      return;
  }
}

/** Removes a lock, unless someone deleted it and another process has taken it since. */
async function release(lock: string, text: string): Promise<void> {
  if ((await readFile(lock, "utf8").catch(() => undefined)) === text) await rm(lock, { force: true });
}

/** The errors of file systems without hard links. */
const noLinks: readonly unknown[] = ["EPERM", "ENOTSUP", "ENOSYS"];

/** Returns true if the file was created, and false if it exists already. */
async function linkFile(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to).catch((error: NodeJS.ErrnoException) => {
      if (!noLinks.includes(error.code)) throw error;
      return copyFile(from, to, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Replaces the lock of a dead process with one's own, unless another process does so first. */
async function takeOver(
  lock: string,
  { own, dead }: { readonly own: string; readonly dead: string },
): Promise<boolean> {
  // The token is named after the dead lock. Only the process that created the token may replace that lock.
  const token = `${lock}.${contentHash(dead).slice(0, 12)}`;
  if (!(await linkFile(own, token))) return false;
  try {
    if ((await readFile(lock, "utf8").catch(() => undefined)) !== dead) return false;
    await rename(own, lock);
    return true;
  } finally {
    await rm(token, { force: true });
  }
}

function thisProcess(): Omit<LockOwner, "id"> {
  const started = startOf(process.pid);
  return { pid: process.pid, host: hostname(), started };
}

/**
 * Returns true if the process of a lock may still run. A lock that cannot be parsed, as after a disk failure, is not
 * alive.
 */
function isAlive(owner: LockOwner | undefined): boolean {
  if (typeof owner?.pid !== "number") return false;
  if (owner.host !== hostname()) return true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // The process may belong to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const started = startOf(owner.pid);
  return started === undefined || owner.started === undefined || started === owner.started;
}

/** Returns the start of a process in kernel ticks since boot, with the boot id. Linux only. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    // The process name is in brackets and may contain anything. The start time is the 20th field after it.
    return `${boot} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
  } catch {
    return undefined;
  }
}

function busy({ what, folder, lock }: WantedLock, content = ""): LyceumError {
  const { pid, host } = tryParseJson<Partial<LockOwner>>(content) ?? {};
  const who = pid === undefined ? "another process" : `process ${pid}${host === hostname() ? "" : ` on ${host}`}`;
  return new LyceumError({
    code: "config.invalid",
    message: `${what} is being written by ${who}.`,
    hint: `Wait until it has ended, or choose another output. If that process is gone, delete ${lock}.`,
    data: { folder, ...(pid === undefined ? {} : { pid }), ...(host === undefined ? {} : { host }) },
  });
}
