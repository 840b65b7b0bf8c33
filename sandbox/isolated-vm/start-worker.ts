import { randomBytes } from "node:crypto";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { FrameReader, frame } from "../pool/frames.ts";
import { machineOomKills } from "../pool/processor-time.ts";
import { unreported } from "../pool/requests.ts";
import type { StartProgress } from "../pool/watched-start.ts";
import type { Job, Worker, WorkerResult } from "../pool/worker.ts";
import { WorkerFailure } from "../pool/worker-failure.ts";
import { checkResult } from "../pool/worker-result.ts";
import type { ChildConnection } from "./child-connection.ts";
import type { ChildMessage, JobMessage } from "./child-messages.ts";

/** How much later than the child's own watchdog this side ends a job. */
const backstopMs = 2_000;
const longestFrame = 2 ** 28;

/** Creates a worker from a started child program. Rejects with `sandbox.unavailable` if isolated-vm does not load. */
export async function startIsolatedVmWorker(options: {
  readonly connection: ChildConnection;
  readonly progress: StartProgress;
  readonly maxJobs: number;
  readonly maxRssMb: number;
}): Promise<IsolatedVmWorker> {
  const { connection, progress } = options;
  const worker = new IsolatedVmWorker(options);
  try {
    progress.watch(connection.cpuMs);
    await worker.started(progress.signal);
    progress.step();
    await connection.limit?.();
    return worker;
  } catch (error) {
    await worker[Symbol.asyncDispose]();
    throw error;
  }
}

/** A pool worker that runs its jobs in a child program. */
export class IsolatedVmWorker implements Worker {
  /** The versions of isolated-vm and V8 in the child program. */
  version = "";
  readonly #connection: ChildConnection;
  readonly #maxJobs: number;
  readonly #maxRssMb: number;
  #jobs = 0;
  #reusable = true;
  /** How it ended, after it has ended. */
  #ended: string | undefined;
  #onMessage: (message: ChildMessage | string) => void = () => undefined;

  constructor(options: {
    readonly connection: ChildConnection;
    readonly maxJobs: number;
    readonly maxRssMb: number;
  }) {
    const { connection } = options;
    this.#connection = connection;
    this.#maxJobs = options.maxJobs;
    this.#maxRssMb = options.maxRssMb;
    void connection.ended.then((how) => {
      this.#reusable = false;
      this.#ended = how;
      this.#onMessage(how);
    });
    const reader = new FrameReader(longestFrame);
    connection.output.on("data", (chunk: Buffer) => {
      try {
        for (const text of reader.push(chunk)) {
          const message: unknown = JSON.parse(text);
          this.#onMessage(typeof message === "object" && message !== null ? (message as ChildMessage) : "broken");
        }
      } catch {
        this.#onMessage("broken");
      }
    });
    // The process has ended or will be ended soon.
    connection.input.on("error", () => undefined);
    connection.output.on("error", () => undefined);
  }

  get reusable(): boolean {
    return this.#reusable;
  }

  async started(signal: AbortSignal): Promise<void> {
    const message = await this.#next({ signal });
    if (message === "aborted") throw signal.reason;
    if (typeof message === "string") {
      const words = `A worker ended while it started (${message}). ${this.#stderr()}`;
      throw new WorkerFailure(words, { fromOutside: !message.startsWith("code ") });
    }
    if (message.kind === "unavailable") {
      throw new LyceumError({
        code: "sandbox.unavailable",
        message: `isolated-vm does not load: ${message.message}`,
        hint: "Install Lyceum's dependencies for this platform, or choose another sandbox.",
      });
    }
    if (message.kind === "ready") this.version = message.version;
  }

  async run(job: Job, signal: AbortSignal): Promise<WorkerResult> {
    const started = performance.now();
    const oomKills = machineOomKills();
    const nonce = randomBytes(16).toString("hex");
    const { signal: _, ...request } = job.request;
    const answer = this.#next({ signal, milliseconds: job.limits.wallMs + backstopMs });
    this.#connection.input.write(frame({ nonce, job: { ...job, request } } satisfies JobMessage));
    const message = await answer;
    const wallMs = performance.now() - started;
    if (typeof message !== "string" && message.kind === "failed") {
      // The failure is the worker's own: how it ends differs between systems and says nothing about the code.
      this.#reusable = false;
      throw new Error(`The worker failed: ${message.message}`);
    }
    if (typeof message !== "string") return this.#accept(message, { job, nonce, wallMs });
    this.#reusable = false;
    switch (message) {
      case "aborted":
        return endedResult(job, { status: "aborted", wallMs, words: "The execution was aborted." });
      case "late":
        return endedResult(job, { status: "timeout_wall", wallMs, words: "The worker did not answer in time." });
      case "broken":
        return brokenResult(job, { wallMs, nonceOk: false });
    }
    if (message === "SIGKILL" && (await this.#connection.outOfMemory?.()) === true) {
      return endedResult(job, {
        status: "memory",
        wallMs,
        words: "It used up the memory of its container.",
        signal: message,
      });
    }
    // V8 gives up by a trap or an abort, and only a job can cause that. Other signals come from outside.
    if (!["SIGTRAP", "SIGABRT", "SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE"].includes(message)) {
      // The kernel kills what uses up the machine's memory, and a program that fails ends with a code.
      const fromOutside = machineOomKills() === oomKills && !message.startsWith("code ");
      throw new WorkerFailure(`The worker ended by ${message}. ${this.#stderr()}`, { fromOutside });
    }
    const outOfMemory = /out of memory|OOM|allocation failed/i.test(this.#stderr());
    const words = `V8 aborted: ${/(?:Fatal|FATAL)[^\n]*/.exec(this.#stderr())?.[0] ?? message}`;
    return endedResult(job, { status: outOfMemory ? "memory" : "signal", wallMs, words, signal: message });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reusable = false;
    await this.#connection.kill();
    this.#onMessage = () => undefined;
  }

  #stderr(): string {
    return this.#connection.stderrText();
  }

  #accept(
    message: ChildMessage,
    { job, nonce, wallMs }: { readonly job: Job; readonly nonce: string; readonly wallMs: number },
  ): WorkerResult {
    const isAnswer = message.kind === "result" && message.nonce === nonce;
    if (!isAnswer || !checkResult(message.result, job)) {
      this.#reusable = false;
      return brokenResult(job, { wallMs, nonceOk: isAnswer });
    }
    const { result, reusable } = message;
    this.#jobs++;
    const tooLarge = result.usage.peakRssKb > this.#maxRssMb * 1024;
    if (!reusable || tooLarge || this.#jobs >= this.#maxJobs) this.#reusable = false;
    return result;
  }

  /** Returns the child's next message, or why there is none: `aborted`, `late`, or how it ended. */
  async #next(options: {
    readonly signal: AbortSignal;
    readonly milliseconds?: number;
  }): Promise<ChildMessage | string> {
    const { signal, milliseconds } = options;
    const { promise, resolve } = Promise.withResolvers<ChildMessage | string>();
    const onAbort = (): void => resolve("aborted");
    const timer = milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds, "late");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#onMessage = resolve;
    if (this.#ended !== undefined) resolve(this.#ended);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#onMessage = () => undefined;
    }
  }
}

/** Returns the result of a job whose answer is invalid. */
function brokenResult(job: Job, options: { readonly wallMs: number; readonly nonceOk: boolean }): WorkerResult {
  const { wallMs, nonceOk } = options;
  const result = endedResult(job, { status: "violation", wallMs, words: "An answer broke the protocol." });
  return { ...result, integrity: { nonceOk, flags: ["broken-answer"] } };
}

/** Returns the result of a job whose process ended without an answer. */
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
  const result = unreported(job.request.task, { status, error: { type: status, message: words } });
  return { ...result, exit: { code: null, signal: signal ?? null }, usage: { ...result.usage, wallMs } };
}
