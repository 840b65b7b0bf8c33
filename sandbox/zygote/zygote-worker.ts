import type { Readable, Writable } from "node:stream";
import { FrameReader, frame } from "../pool/frames.ts";
import type { StartProgress } from "../pool/watched-start.ts";
import type { Job, Worker, WorkerResult } from "../pool/worker.ts";
import { WorkerFailure } from "../pool/worker-failure.ts";
import { jobParts } from "./job-parts.ts";
import { type Guards, type ObservedJob, resultOf } from "./observed-job.ts";
import { type RunnerSettings, runnerBundle } from "./runner-source.ts";

/** A started runner process, independent of how it was started. */
export interface RunnerProcess {
  readonly input: Writable;
  readonly output: Readable;
  /** Returns its stderr output so far, which explains why it ended. */
  readonly stderrText: () => string;
  /** Processor time of its processes so far, in milliseconds. Undefined if it is unknown. */
  readonly cpuMs: () => number | undefined | Promise<number | undefined>;
  /** Kills the runner and all its processes. Resolves when they have ended. May be called several times. */
  readonly kill: () => Promise<void>;
}

/** The greeting of a runner. */
export interface RunnerGreeting extends Guards {
  readonly python: string;
  readonly packages: readonly string[];
}

/**
 * How much longer than the job's own time a runner may take to report its end. It applies twice, because the host may
 * have been asleep.
 */
const graceMs = 5_000;
const abortMs = 3_000;

/** A pool worker that runs its jobs in a forking runner. */
export class ZygoteWorker implements Worker {
  readonly greeting: RunnerGreeting;
  readonly #runner: RunnerProcess;
  readonly #frames: FrameQueue;
  #reusable = true;

  private constructor(options: { runner: RunnerProcess; frames: FrameQueue; greeting: RunnerGreeting }) {
    this.#runner = options.runner;
    this.#frames = options.frames;
    this.greeting = options.greeting;
  }

  /** Waits for the greeting of a started runner. Kills the runner and rejects if it does not answer. */
  static async start(options: {
    readonly runner: RunnerProcess;
    readonly settings: RunnerSettings;
    readonly progress: StartProgress;
  }): Promise<ZygoteWorker> {
    const { runner, settings, progress } = options;
    const frames = new FrameQueue(runner);
    try {
      const bundle = await runnerBundle(settings);
      progress.watch(runner.cpuMs);
      runner.input.write(bundle);
      const greeting = await frames.next(progress);
      return new ZygoteWorker({ runner, frames, greeting: greeting as RunnerGreeting });
    } catch (error) {
      await runner.kill();
      // A program that fails says why. One that is killed cannot.
      if (error instanceof WorkerFailure && runner.stderrText() !== "") throw error.ofUnknownCause();
      throw error;
    }
  }

  get reusable(): boolean {
    return this.#reusable && !this.#frames.ended;
  }

  async run(job: Job, signal: AbortSignal): Promise<WorkerResult> {
    const parts = jobParts(job);
    const { id, limits } = job;
    const giveUp = new AbortController();
    let timer = setTimeout(() => {
      timer = setTimeout(() => giveUp.abort(), graceMs);
    }, limits.wallMs + graceMs);
    let abortTimer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      this.#runner.input.write(frame({ abort: true }));
      abortTimer = setTimeout(() => giveUp.abort(), abortMs);
    };
    try {
      signal.throwIfAborted();
      this.#runner.input.write(frame({ id, limits, parts: parts.map((part) => part.message) }));
      signal.addEventListener("abort", onAbort, { once: true });
      const observed = (await this.#frames.next({ signal: giveUp.signal })) as ObservedJob;
      if (observed.id !== id) throw new Error(`A runner answered job ${observed.id} instead of ${id}.`);
      this.#reusable = observed.clean;
      return resultOf({ job, parts, observed, guards: this.greeting });
    } catch (error) {
      this.#reusable = false;
      if (giveUp.signal.aborted) await this.#runner.kill();
      // A job of the runner's own user may have ended the runner.
      else if (error instanceof WorkerFailure && !this.greeting.separate) throw error.ofUnknownCause();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
      clearTimeout(abortTimer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reusable = false;
    await this.#runner.kill();
  }
}

/** The frames of a runner, received in order. */
class FrameQueue {
  readonly #frames: string[] = [];
  readonly #reader = new FrameReader(2 ** 28);
  #wake: () => void = () => undefined;
  #failure: unknown;
  ended = false;

  constructor(runner: RunnerProcess) {
    const end = (failure?: unknown): void => {
      this.ended = true;
      this.#failure ??= failure ?? new WorkerFailure(`A runner ended. ${runner.stderrText()}`, { fromOutside: true });
      this.#wake();
    };
    runner.output.on("data", (chunk: Buffer) => {
      try {
        this.#frames.push(...this.#reader.push(chunk));
        this.#wake();
      } catch (error) {
        end(error);
      }
    });
    runner.output.on("end", () => end());
    runner.output.on("error", end);
    runner.output.on("close", () => end());
    runner.input.on("error", end);
  }

  async next(options: { readonly signal: AbortSignal }): Promise<unknown> {
    const { signal } = options;
    const wake = (): void => this.#wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        const text = this.#frames.shift();
        if (text !== undefined) return JSON.parse(text);
        signal.throwIfAborted();
        if (this.ended) throw this.#failure;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }
}
