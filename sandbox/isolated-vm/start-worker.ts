import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LyceumError } from "../../src/errors/index.ts";
import { missingCases } from "../pool/requests.ts";
import type { Job, Worker, WorkerResult } from "../pool/worker.ts";
import { checkResult } from "../pool/worker-result.ts";
import type { ChildMessage, JobMessage } from "./child-messages.ts";

const program = fileURLToPath(new URL(`./child${path.extname(import.meta.url)}`, import.meta.url));
/** `--no-node-snapshot` is asked for by isolated-vm; the rest takes from the process what it does not need. */
const flags = [
  "--no-node-snapshot",
  "--disable-wasm-trap-handler",
  "--no-lazy",
  "--no-sparkplug",
  "--no-rehash-snapshot",
  "--permission",
  "--allow-addons",
  "--allow-fs-read=*",
  "--no-warnings",
];
const prlimit = ["/usr/bin/prlimit", "/bin/prlimit"].find((file) => existsSync(file));
/** Address space beyond that of a process which has just started: V8's own limit does not count all buffers. */
const addressSpaceBytes = 4 * 2 ** 30;
const pageBytes = 4096;
const startMs = 60_000;
/** How much later than the child's own watchdog this side ends a job. */
const backstopMs = 2_000;
const stderrLength = 4_000;

/** Starts a child process that runs jobs. Rejects with `sandbox.unavailable` where isolated-vm does not load. */
export async function startIsolatedVmWorker(options: {
  readonly signal: AbortSignal;
  readonly maxJobs: number;
  readonly maxRssMb: number;
}): Promise<Worker> {
  options.signal.throwIfAborted();
  const child = spawn(process.execPath, [...flags, program], {
    env: {},
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const worker = new IsolatedVmWorker(child, options);
  try {
    await worker.started(options.signal);
    await limitProcess(child.pid!);
    return worker;
  } catch (error) {
    await worker[Symbol.asyncDispose]();
    throw error;
  }
}

/** Takes from a process what its jobs do not need, where the system can: address space, files, core dumps. */
async function limitProcess(pid: number): Promise<void> {
  if (prlimit === undefined) return;
  const [pages] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ");
  const addressSpace = Number(pages) * pageBytes + addressSpaceBytes;
  await promisify(execFile)(prlimit, [`--pid=${pid}`, `--as=${addressSpace}`, "--core=0", "--fsize=0"]);
}

class IsolatedVmWorker implements Worker {
  readonly #child: ChildProcess;
  readonly #exited: Promise<string>;
  readonly #maxJobs: number;
  readonly #maxRssMb: number;
  #stderr = "";
  #jobs = 0;
  #reusable = true;
  #onMessage: (message: ChildMessage) => void = () => undefined;

  constructor(child: ChildProcess, options: { readonly maxJobs: number; readonly maxRssMb: number }) {
    this.#child = child;
    this.#maxJobs = options.maxJobs;
    this.#maxRssMb = options.maxRssMb;
    this.#exited = new Promise((resolve) => {
      const onEnd = (how: string): void => {
        this.#reusable = false;
        resolve(how);
      };
      child.once("error", (error) => onEnd(error.message));
      child.once("exit", (code, signal) => onEnd(signal ?? `code ${code}`));
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrLength);
    });
    child.on("message", (message) => this.#onMessage(message as ChildMessage));
  }

  get reusable(): boolean {
    return this.#reusable;
  }

  async started(signal: AbortSignal): Promise<void> {
    const message = await this.#next({ signal, milliseconds: startMs });
    if (message === "aborted") throw signal.reason;
    if (message === "late") throw new Error("A worker of the isolated-vm sandbox did not start.");
    if (typeof message === "string") throw new Error(`A worker ended while it started (${message}). ${this.#stderr}`);
    if (message.kind === "unavailable") {
      throw new LyceumError({
        code: "sandbox.unavailable",
        message: `isolated-vm does not load: ${message.message}`,
        hint: "Install Lyceum's dependencies for this platform, or choose another sandbox.",
      });
    }
  }

  async run(job: Job, signal: AbortSignal): Promise<WorkerResult> {
    const started = performance.now();
    const nonce = randomBytes(16).toString("hex");
    const { signal: _, ...request } = job.request;
    const answer = this.#next({ signal, milliseconds: job.limits.wallMs + backstopMs });
    this.#child.send({ nonce, job: { ...job, request } } satisfies JobMessage, () => undefined);
    const message = await answer;
    const wallMs = performance.now() - started;
    if (typeof message !== "string") return this.#accept(message, { job, nonce, wallMs });
    this.#reusable = false;
    switch (message) {
      case "aborted":
        return endedResult(job, { status: "aborted", wallMs, words: "The execution was aborted." });
      case "late":
        return endedResult(job, { status: "timeout_wall", wallMs, words: "The worker gave no answer in time." });
    }
    await stderrEnd(this.#child);
    // V8 gives up by a trap or an abort, and only what a job does brings it there; other ends come from outside.
    if (!["SIGTRAP", "SIGABRT", "SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE"].includes(message)) {
      throw new Error(`The worker ended by ${message}. ${this.#stderr}`);
    }
    const outOfMemory = /out of memory|OOM|allocation failed/i.test(this.#stderr);
    const words = `V8 gave up: ${/(?:Fatal|FATAL)[^\n]*/.exec(this.#stderr)?.[0] ?? message}`;
    return endedResult(job, { status: outOfMemory ? "memory" : "signal", wallMs, words, signal: message });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reusable = false;
    this.#child.kill("SIGKILL");
    await this.#exited;
    this.#child.removeAllListeners("message");
    this.#child.stderr?.destroy();
    if (this.#child.connected) this.#child.disconnect();
  }

  #accept(
    message: ChildMessage,
    { job, nonce, wallMs }: { readonly job: Job; readonly nonce: string; readonly wallMs: number },
  ): WorkerResult {
    const isAnswer = message.kind === "result" && message.nonce === nonce;
    if (!isAnswer || !checkResult(message.result, job)) {
      this.#reusable = false;
      const result = endedResult(job, { status: "violation", wallMs, words: "An answer broke the protocol." });
      return { ...result, integrity: { nonceOk: isAnswer, flags: ["broken-answer"] } };
    }
    const { result, reusable } = message;
    this.#jobs++;
    const tooLarge = result.usage.peakRssKb > this.#maxRssMb * 1024;
    if (!reusable || tooLarge || this.#jobs >= this.#maxJobs) this.#reusable = false;
    return result;
  }

  /** The child's next message, or why there is none: `aborted`, `late`, or how it ended. */
  async #next(options: {
    readonly signal: AbortSignal;
    readonly milliseconds: number;
  }): Promise<ChildMessage | string> {
    const { signal, milliseconds } = options;
    const { promise, resolve } = Promise.withResolvers<ChildMessage | string>();
    const onAbort = (): void => resolve("aborted");
    const timer = setTimeout(resolve, milliseconds, "late");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#onMessage = resolve;
    try {
      return await Promise.race([promise, this.#exited]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#onMessage = () => undefined;
    }
  }
}

/** What the process wrote last may arrive after its end. */
async function stderrEnd(child: ChildProcess): Promise<void> {
  if (child.stderr!.readableEnded || child.stderr!.destroyed) return;
  await new Promise((resolve) => {
    child.stderr!.once("close", resolve);
  });
}

/** The result of a job whose process said nothing more. */
function endedResult(
  job: Job,
  options: {
    readonly status: "aborted" | "timeout_wall" | "violation" | "memory" | "signal";
    readonly wallMs: number;
    readonly words: string;
    readonly signal?: string;
  },
): WorkerResult {
  const { status, wallMs, words, signal } = options;
  const nothing = { text: "", bytes: 0, truncated: false };
  return {
    status,
    cases: missingCases(job.request.task),
    error: { type: status, message: words },
    stdout: nothing,
    stderr: nothing,
    exit: { code: null, signal: signal ?? null },
    usage: { cpuMs: 0, wallMs, peakRssKb: 0, swept: 0 },
    integrity: { nonceOk: true, flags: [] },
  };
}
