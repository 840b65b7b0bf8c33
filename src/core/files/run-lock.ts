import { constants, readFileSync, statSync } from "node:fs";
import { copyFile, link, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LyceumError } from "../../contract/errors/index.ts";
import { writeFailed } from "../../contract/errors/write-failed.ts";
import { tryParseJson } from "../../contract/json.ts";
import { contentHash } from "../taskset/content-hash.ts";
import { makeFolder } from "./make-folder.ts";

/** Who writes a run: what `run.lock` holds. */
interface LockOwner {
  /** Of this one lock. */
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /** When the process began, as its system counts it; tells it from a later one of the same number. */
  readonly started?: string;
}

/** The lock of the run in a folder. */
export function lockPath(folder: string): string {
  return join(folder, "run.lock");
}

/** The lock of a run's metrics: a training holds both, and what only records one holds this. */
function metricsLockPath(folder: string): string {
  return join(folder, "metrics.lock");
}

/**
 * Whether the process that writes the run in a folder is `alive`, or `gone`: it ended, or it was killed and left its
 * lock. A process `elsewhere`, on another machine, cannot be looked at.
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

/** Reads at once: a list of thousands of runs looks at the locks of each, and asynchronous reads take ten times as long. */
function readLock(lock: string): LockOwner | undefined {
  try {
    // Reading a pipe would wait for its writer.
    if (statSync(lock, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
    return tryParseJson<LockOwner>(readFileSync(lock, "utf8"));
  } catch {
    return undefined;
  }
}

/** How often a lock that somebody else takes over at the same moment is looked at again, and after how long. */
const [attempts, waitMs] = [20, 10];

/** What to lock, and how to say so. */
interface WantedLock {
  readonly lock: string;
  /** The folder that it is in; made if it is missing, and removed again if nothing else is in it. */
  readonly folder: string;
  /** What it keeps from others, such as `The run in runs/train`. */
  readonly what: string;
}

/**
 * Keeps every other process, and every other run of this one, from writing the run in a folder, which is made if it is
 * missing. The lock of a process that has died is taken over. Rejects with `config.invalid` while the run is being
 * written; a lock of another machine counts as such, because its process cannot be looked at. Rejects with
 * `trace.write-failed` if the folder cannot be written. Dispose of it when all is written.
 */
export async function lockRun(folder: string): Promise<AsyncDisposable> {
  return takeLock({ lock: lockPath(folder), folder, what: `The run in ${folder}` });
}

/** As {@link lockRun}, for the metrics of a run: the training that they are of has locked the run itself. */
export async function lockMetrics(folder: string): Promise<AsyncDisposable> {
  return takeLock({ lock: metricsLockPath(folder), folder, what: `The run in ${folder}` });
}

/** As {@link lockRun}, for a file, by a lock beside it. */
export async function lockFile(path: string): Promise<AsyncDisposable> {
  return takeLock({ lock: `${path}.lock`, folder: dirname(path), what: `The file ${path}` });
}

async function takeLock(wanted: WantedLock): Promise<AsyncDisposable> {
  const { lock, folder } = wanted;
  const id = crypto.randomUUID();
  const text = `${JSON.stringify({ id, ...thisProcess() } satisfies LockOwner)}\n`;
  // Linked to its place whole, so that nobody ever reads half a lock.
  const own = `${lock}.${id}`;
  let made: string | undefined;
  const held = (): AsyncDisposable => ({
    [Symbol.asyncDispose]: async () => {
      await release(lock, text);
      await removeEmpty(folder, made);
    },
  });
  try {
    made = await makeFolder(folder);
    await writeFile(own, text);
    let found: string | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await setTimeout(waitMs);
      if (await linked(own, lock)) return held();
      found = await readFile(lock, "utf8").catch(() => undefined);
      if (found === undefined) continue;
      if (isAlive(tryParseJson<LockOwner>(found))) break;
      if (await takenOver(lock, { own, held: found })) return held();
    }
    throw busy(wanted, found);
  } catch (error) {
    throw writeFailed({ path: folder, cause: error, what: `The folder ${folder}` });
  } finally {
    await rm(own, { force: true }).catch(() => undefined);
  }
}

/** Removes a folder, and those above it up to the first that was made, as far as they are empty. */
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

/** A lock that somebody has deleted, and that another process has taken since, is not ours to remove. */
async function release(lock: string, text: string): Promise<void> {
  if ((await readFile(lock, "utf8").catch(() => undefined)) === text) await rm(lock, { force: true });
}

/** Errors of file systems that have no links. */
const noLinks: readonly unknown[] = ["EPERM", "ENOTSUP", "ENOSYS"];

/** True where the file is new; false where there is one already. */
async function linked(from: string, to: string): Promise<boolean> {
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

/** Puts one's own lock in the place of a dead process's, unless somebody else has done so, or is about to. */
async function takenOver(
  lock: string,
  { own, held }: { readonly own: string; readonly held: string },
): Promise<boolean> {
  // Named after the dead lock: whoever has it is the only one who may replace that lock, and no other.
  const token = `${lock}.${contentHash(held).slice(0, 12)}`;
  if (!(await linked(own, token))) return false;
  try {
    if ((await readFile(lock, "utf8").catch(() => undefined)) !== held) return false;
    await rename(own, lock);
    return true;
  } finally {
    await rm(token, { force: true });
  }
}

function thisProcess(): Omit<LockOwner, "id"> {
  const started = startOf(process.pid);
  return { pid: process.pid, host: hostname(), ...(started === undefined ? {} : { started }) };
}

/** What cannot be known counts as alive; a lock that is none, as a torn disk may leave, does not. */
function isAlive(owner: LockOwner | undefined): boolean {
  if (typeof owner?.pid !== "number") return false;
  if (owner.host !== hostname()) return true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // It may be another user's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const started = startOf(owner.pid);
  return started === undefined || owner.started === undefined || started === owner.started;
}

/** When a process began, in the kernel's ticks since the machine did, with the machine's own start; Linux only. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    // The name, in brackets, may hold anything; the start is the 20th field behind it.
    return `${boot} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
  } catch {
    return undefined;
  }
}

function busy({ what, folder, lock }: WantedLock, held = ""): LyceumError {
  const { pid, host } = tryParseJson<Partial<LockOwner>>(held) ?? {};
  const who = pid === undefined ? "another process" : `process ${pid}${host === hostname() ? "" : ` on ${host}`}`;
  return new LyceumError({
    code: "config.invalid",
    message: `${what} is being written by ${who}.`,
    hint: `Wait until it has ended, or name another output. If that process is gone, delete ${lock}.`,
    data: { folder, ...(pid === undefined ? {} : { pid }), ...(host === undefined ? {} : { host }) },
  });
}
