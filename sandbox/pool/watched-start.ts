import { cpus, loadavg } from "node:os";
import { untilAborted } from "../../src/core/concurrency/until-aborted.ts";
import { WorkerFailure } from "./worker-failure.ts";

/** Receives the progress of a start. */
export interface StartProgress {
  /** Aborts if the start is given up. What was started must then be killed. */
  readonly signal: AbortSignal;
  /** Reports a completed step. */
  step(): void;
  /**
   * Sets how to read the processor time that the started processes have used so far, in milliseconds. Undefined if it
   * is unknown. Processor time that grows is progress.
   */
  watch(cpuMs: () => number | undefined | Promise<number | undefined>): void;
}

/** When a start is given up. */
export interface StartLimits {
  /** Wall time without progress on a machine with free processors. It grows with the machine's load. */
  readonly silentMs: number;
  /** Processor time. */
  readonly cpuMs: number;
  /** Wall time, also if the start makes progress. */
  readonly wallMs: number;
}

const defaultStartLimits: StartLimits = { silentMs: 30_000, cpuMs: 120_000, wallMs: 600_000 };
const longestTickMs = 500;
/** Less processor time than this between two looks is no progress. */
const smallestCpuMs = 1;
/** How long a start may take to kill what it started. */
const killMs = 3_000;
/** The number of attempts of a sandbox's first start: if it was killed from outside, and otherwise. */
const firstAttempts = { fromOutside: 10, other: 3 };

/**
 * Waits for a start as long as it makes progress. On a busy machine a start takes minutes, and an engine under load
 * sometimes never answers. Rejects as `start` does, and with a `WorkerFailure` if the start exceeds a limit. If it
 * exceeds one, or `signal` aborts, the start's own signal aborts. The start then has a moment to kill its processes. A
 * result that it still returns is closed.
 */
export async function watchedStart<T>(options: {
  readonly start: (progress: StartProgress) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: StartLimits;
}): Promise<T> {
  const { start, signal, limits = defaultStartLimits } = options;
  signal?.throwIfAborted();
  const giveUp = new AbortController();
  const ended = signal === undefined ? giveUp.signal : AbortSignal.any([signal, giveUp.signal]);
  const watch = new StartWatch(limits, giveUp);
  const starting = start({ signal: ended, step: () => watch.step(), watch: (cpuMs) => watch.observe(cpuMs) });
  try {
    const started = await untilAborted(starting, ended);
    ended.throwIfAborted();
    return started;
  } catch (error) {
    if (!ended.aborted) throw error;
    const killed = starting.then(discard).catch(() => undefined);
    await Promise.race([killed, pause(killMs)]);
    throw ended.reason;
  } finally {
    watch[Symbol.dispose]();
  }
}

/** Makes the first start of a sandbox. Repeats it if what it started was killed or did not answer. */
export async function firstStart<T>(options: {
  readonly start: (progress: StartProgress) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await watchedStart(options);
    } catch (error) {
      if (!(error instanceof WorkerFailure)) throw error;
      if (attempt >= (error.fromOutside ? firstAttempts.fromOutside : firstAttempts.other)) throw error;
    }
  }
}

/** Returns how much slower a program runs now than on a machine with free processors. At least 1. */
export function machineLoad(): number {
  return Math.max(1, loadavg()[0]! / Math.max(1, cpus().length));
}

async function discard(unwanted: unknown): Promise<void> {
  await (unwanted as Partial<AsyncDisposable> | undefined)?.[Symbol.asyncDispose]?.();
}

/** Looks at a start from time to time, and gives it up if it exceeds a limit. */
class StartWatch implements Disposable {
  readonly #limits: StartLimits;
  readonly #giveUp: AbortController;
  readonly #begun = performance.now();
  #progressAt = this.#begun;
  #readCpuMs: () => number | undefined | Promise<number | undefined> = () => undefined;
  #cpuMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: StartLimits, giveUp: AbortController) {
    this.#limits = limits;
    this.#giveUp = giveUp;
    this.#wait();
  }

  step(): void {
    this.#progressAt = performance.now();
  }

  observe(cpuMs: () => number | undefined | Promise<number | undefined>): void {
    this.#readCpuMs = cpuMs;
    this.step();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    const tickMs = Math.min(longestTickMs, Math.max(1, this.#limits.silentMs / 4));
    this.#timer = setTimeout(() => void this.#look(), tickMs);
  }

  async #look(): Promise<void> {
    const { silentMs, cpuMs, wallMs } = this.#limits;
    const before = performance.now();
    // An engine that hangs does not answer this question either.
    const reading = Promise.resolve(this.#readCpuMs()).catch(() => undefined);
    const used = await Promise.race([reading, pause(longestTickMs * 4)]);
    if (this.#timer === undefined) return;
    if (used !== undefined && used >= this.#cpuMs + smallestCpuMs) {
      this.#cpuMs = used;
      this.#progressAt = Math.max(this.#progressAt, before);
    }
    const now = performance.now();
    if (this.#cpuMs > cpuMs) this.#end(`used more than ${seconds(cpuMs)} of processor time`);
    else if (now - this.#begun > wallMs) this.#end(`took more than ${seconds(wallMs)}`);
    else if (now - this.#progressAt > silentMs * machineLoad()) {
      this.#end(`made no progress for ${seconds(now - this.#progressAt)}`);
    } else this.#wait();
  }

  #end(why: string): void {
    this.#giveUp.abort(new WorkerFailure(`The start of a worker ${why}.`, { fromOutside: false }));
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, undefined).unref();
  });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
