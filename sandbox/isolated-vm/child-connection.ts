import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { processorTimeOf } from "../pool/processor-time.ts";

/** A started child program, wherever it runs. Both sides exchange frames. */
export interface ChildConnection {
  readonly input: Writable;
  readonly output: Readable;
  /**
   * Resolves after it has ended, with the name of the signal that ended it, with `code` and a number, or with other words
   * if neither is known.
   */
  readonly ended: Promise<string>;
  /** True if it was killed because its memory was used up. Called after a kill. */
  readonly outOfMemory?: () => Promise<boolean>;
  /** Returns its stderr output so far. */
  readonly stderrText: () => string;
  /** Processor time that it has used so far, in milliseconds. Undefined if it is unknown. */
  readonly cpuMs: () => number | undefined | Promise<number | undefined>;
  /** Called when it is ready. Removes permissions that only its start needed. */
  readonly limit?: () => Promise<void>;
  /** Kills it and resolves after it has ended. May be called several times. */
  readonly kill: () => Promise<void>;
}

/** isolated-vm requires `--no-node-snapshot`. Other flags remove features that the process does not need. */
export const childFlags: readonly string[] = [
  "--no-node-snapshot",
  "--disable-wasm-trap-handler",
  "--permission",
  "--allow-addons",
  "--allow-fs-read=*",
  "--no-warnings",
  // Most code runs once in a new isolate, so preparations for repeated runs cost more than they save.
  "--no-lazy",
  "--no-lazy-eval",
  "--no-sparkplug",
  "--no-rehash-snapshot",
];

const program = fileURLToPath(new URL(`./child${path.extname(import.meta.url)}`, import.meta.url));
const prlimit = ["/usr/bin/prlimit", "/bin/prlimit"].find((file) => existsSync(file));
/** Address space in addition to that of a newly started process. V8's own limit does not count all buffers. */
const addressSpaceBytes = 4 * 2 ** 30;
const pageBytes = 4096;
const stderrLength = 4_000;

/** Starts the child program as a local process. */
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
    // Not `exit`: only at `close` is its last output complete.
    child.once("close", (code, signal) => resolve(signal ?? `code ${code}`));
  });
  return {
    input: child.stdin,
    output: child.stdout,
    ended,
    stderrText: () => stderr,
    cpuMs: () => processorTimeOf(child.pid),
    limit: () => limitProcess(child),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Limits address space, files and core dumps of a process, if the system can. */
async function limitProcess({ pid }: ChildProcess): Promise<void> {
  if (prlimit === undefined) return;
  const [pages] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ");
  const addressSpace = Number(pages) * pageBytes + addressSpaceBytes;
  await promisify(execFile)(prlimit, [`--pid=${pid}`, `--as=${addressSpace}`, "--core=0", "--fsize=0"]);
}
