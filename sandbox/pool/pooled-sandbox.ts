import { setTimeout as sleep } from "node:timers/promises";
import { LyceumError } from "../../src/errors/index.ts";
import type { ExecuteRequest, ExecuteResult, ExecuteStatus } from "../execution.ts";
import { defaultLimits } from "../limits.ts";
import type { Sandbox, SandboxInfo, SandboxStats } from "../sandbox.ts";
import { checkRequest, unreachedResult } from "./requests.ts";
import type { StartWorker, Worker, WorkerResult } from "./worker.ts";

/** How many workers a pool keeps. */
export interface PoolOptions {
  /** Executions at a time. */
  readonly workers: number;
  /** Workers kept ready beyond that, so that replacing a killed one costs no wait. 0 by default. */
  readonly spares?: number;
}

const startAttempts = 3;
const maxAttempts = 2;

/** A worker with its history. */
interface Slot {
  readonly id: string;
  readonly generation: number;
  readonly worker: Worker;
  jobs: number;
}

/**
 * A sandbox over worker processes: each runs one job at a time, so that a death is one job's doing. Jobs wait in
 * order. A job whose worker fails is run once more on a fresh one, as is one that reached its time on a busy machine
 * without using the processor; what fails twice is `infra_error`.
 */
export class PooledSandbox implements Sandbox {
  readonly info: SandboxInfo;
  readonly #start: StartWorker;
  readonly #options: Required<PoolOptions>;
  readonly #closing = new AbortController();
  readonly #idle: Slot[] = [];
  readonly #waiting: { resolve: (slot: Slot) => void; reject: (error: unknown) => void }[] = [];
  /** Workers that are starting or closing: closing waits for them. */
  readonly #changing = new Set<Promise<unknown>>();
  readonly #byStatus: Record<string, number> = {};
  #generation = 0;
  #workers = 0;
  #running = 0;
  #executions = 0;
  #killed = 0;

  constructor(options: { readonly info: SandboxInfo; readonly start: StartWorker } & PoolOptions) {
    this.info = options.info;
    this.#start = options.start;
    this.#options = { workers: options.workers, spares: options.spares ?? 0 };
  }

  async execute(request: ExecuteRequest): Promise<ExecuteResult> {
    this.#throwIfClosed();
    checkRequest(request, this.info.languages);
    const queued = performance.now();
    const id = request.id ?? String(this.#executions);
    const limits = { ...defaultLimits, ...request.limits };
    const signal = AbortSignal.any([this.#closing.signal, ...(request.signal === undefined ? [] : [request.signal])]);
    this.#executions++;
    let result: ExecuteResult | undefined;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      let slot: Slot;
      try {
        slot = await this.#acquire(signal);
      } catch (error) {
        result = unreachedResult({ id, request, attempts: attempt, error, aborted: signal.aborted });
        break;
      }
      const queueMs = performance.now() - queued;
      this.#running++;
      let finished: WorkerResult | undefined;
      let failure: unknown;
      try {
        slot.jobs++;
        finished = await slot.worker.run({ id, request, limits, seed: request.seed ?? 0 }, signal);
      } catch (error) {
        failure = error;
      } finally {
        this.#running--;
      }
      this.#release(slot, finished !== undefined && slot.worker.reusable);
      if (finished === undefined) {
        result = unreachedResult({ id, request, attempts: attempt, error: failure, aborted: signal.aborted });
      } else {
        const worker = { id: slot.id, generation: slot.generation, jobs: slot.jobs };
        result = { ...finished, id, worker, attempts: attempt, usage: { ...finished.usage, queueMs } };
      }
      if (signal.aborted || !isWorthRetrying(result, limits.cpuMs)) break;
    }
    this.#count(result!.status);
    return result!;
  }

  async warmUp(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#throwIfClosed();
    const wanted = this.#options.workers + this.#options.spares - this.#workers;
    const signals = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
    await Promise.all(
      Array.from({ length: wanted }, async () => this.#hand(await this.#startSlot(AbortSignal.any(signals)))),
    );
  }

  stats(): SandboxStats {
    return {
      executions: this.#executions,
      byStatus: { ...this.#byStatus },
      workersStarted: this.#generation,
      workersKilled: this.#killed,
      waiting: this.#waiting.length,
      running: this.#running,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(closedError());
    for (const { reject } of this.#waiting.splice(0)) reject(closedError());
    await Promise.allSettled(this.#idle.splice(0).map(({ worker }) => worker[Symbol.asyncDispose]()));
    // Running jobs were aborted; their workers close as they settle.
    while (this.#changing.size > 0 || this.#running > 0) {
      await Promise.allSettled([...this.#changing, sleep(5)]);
    }
  }

  /** An idle worker, a new one where there may be more, or the next that becomes free. */
  async #acquire(signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const entry = { resolve, reject };
    this.#waiting.push(entry);
    this.#refill();
    const onAbort = (): void => {
      const place = this.#waiting.indexOf(entry);
      if (place !== -1) this.#waiting.splice(place, 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Starts as many workers as the jobs that wait can use, and the spares. */
  #refill(): void {
    if (this.#closing.signal.aborted) return;
    const { workers, spares } = this.#options;
    const starting = this.#workers - this.#running - this.#idle.length;
    let missing = Math.min(this.#waiting.length + spares - starting, workers + spares - this.#workers);
    for (; missing > 0; missing--) {
      this.#startSlot(this.#closing.signal).then(
        (slot) => this.#hand(slot),
        (error: unknown) => this.#waiting.shift()?.reject(error),
      );
    }
  }

  /** Starts one worker, a few times where it fails, waiting longer each time. */
  async #startSlot(signal: AbortSignal): Promise<Slot> {
    const generation = this.#generation++;
    const id = `${this.info.backend}-${generation}`;
    this.#workers++;
    const starting = (async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#start({ id, signal });
        } catch (error) {
          const unavailable = LyceumError.isInstance(error) && error.code === "sandbox.unavailable";
          if (signal.aborted || unavailable || attempt === startAttempts) throw error;
          await sleep(50 * 4 ** attempt, undefined, { signal });
        }
      }
    })();
    this.#track(starting);
    try {
      return { id, generation, worker: await starting, jobs: 0 };
    } catch (error) {
      this.#workers--;
      throw error;
    }
  }

  /** Gives a worker to the job that waits longest, or keeps it. */
  #hand(slot: Slot): void {
    if (this.#closing.signal.aborted) {
      this.#close(slot);
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(slot);
    else next.resolve(slot);
  }

  #release(slot: Slot, reusable: boolean): void {
    if (reusable && !this.#closing.signal.aborted) {
      this.#hand(slot);
      return;
    }
    this.#killed++;
    this.#close(slot);
    this.#refill();
  }

  #close(slot: Slot): void {
    this.#workers--;
    this.#track(Promise.resolve(slot.worker[Symbol.asyncDispose]()));
  }

  #track(change: Promise<unknown>): void {
    const settled = change.then(
      () => undefined,
      () => undefined,
    );
    this.#changing.add(settled);
    settled.finally(() => this.#changing.delete(settled)).catch(() => undefined);
  }

  #count(status: ExecuteStatus): void {
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1;
  }

  #throwIfClosed(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }
}

/** On a busy machine honest code may reach its wall time: then it has hardly used the processor. */
function isWorthRetrying({ status, usage }: ExecuteResult, cpuMs: number): boolean {
  return status === "infra_error" || (status === "timeout_wall" && usage.cpuMs < cpuMs / 2);
}

function closedError(): LyceumError {
  return new LyceumError({
    code: "sandbox.closed",
    message: "The sandbox is closed.",
    hint: "Await executions before the end of the block that holds the sandbox.",
  });
}
