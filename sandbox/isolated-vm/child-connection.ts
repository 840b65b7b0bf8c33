import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A started child program, wherever it runs: frames go in and come out. */
export interface ChildConnection {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves once it has ended, with the name of the signal that ended it or `code` and a number. */
  readonly ended: Promise<string>;
  /** Whether it was killed because its memory was used up; asked after a kill. */
  readonly outOfMemory?: () => Promise<boolean>;
  /** What it has written to stderr so far. */
  readonly complaints: () => string;
  /** Called once it is ready: takes away what only its start needed. */
  readonly limit?: () => Promise<void>;
  /** Kills it, and resolves when it is gone; may be called again. */
  readonly kill: () => Promise<void>;
}

/** `--no-node-snapshot` is asked for by isolated-vm; others take from the process what it does not need. */
export const childFlags: readonly string[] = [
  "--no-node-snapshot",
  "--disable-wasm-trap-handler",
  "--permission",
  "--allow-addons",
  "--allow-fs-read=*",
  "--no-warnings",
  // Most code runs once, in an isolate that is new: what prepares for more costs more than it gains.
  "--no-lazy",
  "--no-lazy-eval",
  "--no-sparkplug",
  "--no-rehash-snapshot",
];

const program = fileURLToPath(new URL(`./child${path.extname(import.meta.url)}`, import.meta.url));
const prlimit = ["/usr/bin/prlimit", "/bin/prlimit"].find((file) => existsSync(file));
/** Address space beyond that of a process which has just started: V8's own limit does not count all buffers. */
const addressSpaceBytes = 4 * 2 ** 30;
const pageBytes = 4096;
const stderrLength = 4_000;

/** Starts the child program as a process of this machine. */
export function startChildProcess(): ChildConnection {
  const child = spawn(process.execPath, [...childFlags, program], {
    env: {},
    cwd: "/",
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-stderrLength);
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    // Not `exit`: what it wrote last is there only then.
    child.once("close", (code, signal) => resolve(signal ?? `code ${code}`));
  });
  return {
    input: child.stdin,
    output: child.stdout,
    ended,
    complaints: () => stderr,
    limit: () => limitProcess(child),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Limits a process where the system can: address space, files, core dumps. */
async function limitProcess({ pid }: ChildProcess): Promise<void> {
  if (prlimit === undefined) return;
  const [pages] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ");
  const addressSpace = Number(pages) * pageBytes + addressSpaceBytes;
  await promisify(execFile)(prlimit, [`--pid=${pid}`, `--as=${addressSpace}`, "--core=0", "--fsize=0"]);
}
