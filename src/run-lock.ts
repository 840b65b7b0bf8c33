import { constants, readFileSync } from "node:fs";
import { copyFile, link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LyceumError } from "./errors/index.ts";
import { tryParseJson } from "./json.ts";
import { contentHash } from "./taskset/content-hash.ts";

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

/**
 * Whether the process that writes the run in a folder is `alive`, or `gone`: it ended, or it was killed and left its
 * lock. A process `elsewhere`, on another machine, cannot be looked at.
 */
export async function runWriter(folder: string): Promise<"alive" | "gone" | "elsewhere"> {
  const owner = await readFile(lockPath(folder), "utf8").then(
    (text) => tryParseJson<LockOwner>(text),
    () => undefined,
  );
  if (typeof owner?.pid !== "number") return "gone";
  if (owner.host !== hostname()) return "elsewhere";
  return isAlive(owner) ? "alive" : "gone";
}

/** How often a lock that somebody else takes over at the same moment is looked at again, and after how long. */
const [attempts, waitMs] = [20, 10];

/**
 * Keeps every other process, and every other run of this one, from writing the run in a folder, which is made where
 * there is none. The lock of a process that has died is taken over. Rejects with `config.invalid` where the run is being
 * written; a lock of another machine cannot be looked into and counts as such. Rejects with `trace.write-failed` where
 * the folder cannot be written. Dispose of it when all is written.
 */
export async function lockRun(folder: string): Promise<AsyncDisposable> {
  const lock = lockPath(folder);
  const id = crypto.randomUUID();
  const text = `${JSON.stringify({ id, ...thisProcess() } satisfies LockOwner)}\n`;
  // Linked to its place whole, so that nobody ever reads half a lock.
  const own = `${lock}.${id}`;
  await mkdir(folder, { recursive: true })
    .then(() => writeFile(own, text))
    .catch((cause: unknown) => {
      throw unwritable(folder, cause);
    });
  try {
    let held: string | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await setTimeout(waitMs);
      if (await linked(own, lock)) return heldLock(lock, text);
      held = await readFile(lock, "utf8").catch(() => undefined);
      if (held === undefined) continue;
      if (isAlive(tryParseJson<LockOwner>(held))) break;
      if (await takenOver(lock, { own, held })) return heldLock(lock, text);
    }
    throw busy(folder, lock, held);
  } finally {
    await rm(own, { force: true });
  }
}

function heldLock(lock: string, text: string): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => release(lock, text) };
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

function busy(folder: string, lock: string, held = ""): LyceumError {
  const { pid, host } = tryParseJson<Partial<LockOwner>>(held) ?? {};
  const who = pid === undefined ? "another process" : `process ${pid}${host === hostname() ? "" : ` on ${host}`}`;
  return new LyceumError({
    code: "config.invalid",
    message: `The run in ${folder} is being written by ${who}.`,
    hint: `Wait until it has ended, or name another folder. If that process is gone, delete ${lock}.`,
    data: { folder, ...(pid === undefined ? {} : { pid }), ...(host === undefined ? {} : { host }) },
  });
}

function unwritable(folder: string, cause: unknown): LyceumError {
  return new LyceumError({
    code: "trace.write-failed",
    message: `The folder ${folder} cannot be written: ${(cause as Error).message}`,
    hint: "Name another folder, or make room and give yourself the right to write.",
    data: { folder },
    cause,
  });
}
