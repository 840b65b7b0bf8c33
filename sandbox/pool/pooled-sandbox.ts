import { setTimeout as sleep } from "node:timers/promises";
import { LyceumError, toErrorData } from "../../src/contract/errors/index.ts";
import { Semaphore } from "../../src/core/concurrency/semaphore.ts";
import { warn } from "../../src/core/text/warn.ts";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import type { ExecuteRequest, ExecuteResult, Language } from "../execution.ts";
import { defaultLimits } from "../limits.ts";
import type { Sandbox, SandboxInfo, SandboxStats } from "../sandbox.ts";
import { canaryJob, canarySucceeded } from "./canary.ts";
import { checkRequest, unreachedResult } from "./requests.ts";
import { machineLoad, watchedStart } from "./watched-start.ts";
import type { Job, StartWorker, Worker, WorkerResult } from "./worker.ts";
import { WorkerFailure } from "./worker-failure.ts";

/** The options of a pool of workers. */
export interface PoolOptions {
  /** Number of executions at a time. */
  readonly workers: number;
  /** Number of extra workers that are kept ready, so that replacing a killed worker takes no time. 0 by default. */
  readonly spares?: number;
  /**
   * The first worker, if it has started already. The pool closes it. Failed starts are then retried. Without it, the
   * first start decides.
   */
  readonly first?: Worker;
  /**
   * How long failed starts are retried, in milliseconds, after a start has succeeded. One minute by default, and longer
   * on a busy machine.
   */
  readonly startBudgetMs?: number;
}

/** Number of workers that start at a time. Of a hundred at once, the last would exceed its start timeout. */
const startsAtOnce = 8;
/** The least number of attempts of a start that may succeed when it is repeated. */
const startAttempts = 3;
/** The number of attempts of a job. The last one is alone, in a fresh worker. */
const jobAttempts = 3;
const startBudgetMs = 60_000;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** Signals that others use to end a process. Code can send them to itself, but then it does so again on the retry. */
const outsideSignals: readonly (string | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"];

/** A worker and its history. */
interface Slot {
  readonly id: string;
  readonly generation: number;
  readonly worker: Worker;
  jobs: number;
}

/** An execution that waits for a worker. */
interface Waiter {
  /** True if it needs a worker that has run no job, while no other job runs. */
  readonly alone: boolean;
  readonly resolve: (slot: Slot) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A sandbox over worker processes. Each worker runs one job at a time, so a worker's death is attributed to one job.
 * Jobs wait in a queue. A job is retried once if it reaches its wall time without using the processor, as on a
 * busy machine. It is retried twice if its worker fails or its process is killed. The third attempt is alone, in a fresh
 * worker, and decides: if the worker knows that the code cannot have ended it, the sandbox is at fault (`infra_error`).
 * If it does not know, the code is at fault (`violation`, `signal`), unless a canary job after an earlier attempt failed
 * too.
 */
export class PooledSandbox implements Sandbox {
  readonly specificationVersion = "v1";
  readonly info: SandboxInfo;
  readonly #start: StartWorker;
  readonly #options: Omit<PoolOptions, "first"> & { readonly spares: number };
  readonly #closing = new AbortController();
  readonly #starts = new Semaphore(startsAtOnce);
  /** One controller per running execution. */
  readonly #active = new Set<AbortController>();
  readonly #idle: Slot[] = [];
  readonly #waiting: Waiter[] = [];
  /** Starting workers, closing workers and executions. Closing waits for them. */
  readonly #unsettled = new Set<Promise<unknown>>();
  readonly #byStatus: Record<string, number> = {};
  #closed: Promise<void> | undefined;
  /** True if a worker has ever started. Failed starts are then retried for longer. */
  #hasStarted = false;
  /** True if the last start failed. */
  #isOut = false;
  /** The permanent error of the last failed worker start, if any. */
  #refusal: LyceumError | undefined;
  #generation = 0;
  #starting = 0;
  #running = 0;
  /** The worker of the job that must be alone. */
  #alone: Slot | undefined;
  #executions = 0;
  #killed = 0;

  constructor(options: { readonly info: SandboxInfo; readonly start: StartWorker } & PoolOptions) {
    this.info = options.info;
    this.#start = options.start;
    const { workers, spares = 0, first } = options;
    this.#options = { workers, spares, startBudgetMs: options.startBudgetMs };
    if (first === undefined) return;
    this.#hasStarted = true;
    this.#idle.push(this.#slotOf(first, this.#generation++));
  }

  async execute(request: ExecuteRequest): Promise<ExecuteResult> {
    this.#throwIfClosed();
    checkRequest(request, this.info.languages);
    const number = this.#executions++;
    const limits = { ...defaultLimits, ...withoutUndefined(request.limits ?? {}) };
    const job: Job = { id: request.id ?? String(number), request, limits, seed: request.seed ?? 0 };
    const controller = new AbortController();
    const onAbort = (): void => controller.abort(request.signal!.reason);
    request.signal?.addEventListener("abort", onAbort, { once: true });
    if (request.signal?.aborted === true) onAbort();
    this.#active.add(controller);
    try {
      const result = await this.#track(this.#executeJob(job, controller.signal));
      this.#byStatus[result.status] = (this.#byStatus[result.status] ?? 0) + 1;
      return result;
    } finally {
      request.signal?.removeEventListener("abort", onAbort);
      this.#active.delete(controller);
    }
  }

  async warmUp(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#throwIfClosed();
    options.signal?.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(options.signal!.reason);
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const wanted = this.#options.workers + this.#options.spares;
      await Promise.race([Promise.all(this.#startUpTo(wanted)), aborted]);
    } finally {
      options.signal?.removeEventListener("abort", onAbort);
    }
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

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(closedError());
    for (const controller of this.#active) controller.abort(closedError());
    for (const slot of this.#idle.splice(0)) this.#discard(slot);
    while (this.#unsettled.size > 0) await Promise.allSettled(this.#unsettled);
  }

  async #executeJob(job: Job, signal: AbortSignal): Promise<ExecuteResult> {
    const queued = performance.now();
    let failures = 0;
    let canaries = true;
    let wasIdle = false;
    for (let attempt = 1; ; attempt++) {
      const { result, fromOutside } = await this.#attempt({ job, signal, attempt, queued });
      // Failed starts were repeated already.
      if (signal.aborted || wasNotReached(result)) return result;
      if (!hasFailed(result)) {
        if (wasIdle || attempt === jobAttempts || !isIdleTimeout(result, job.limits.cpuMs)) return result;
        wasIdle = true;
        continue;
      }
      failures++;
      if (attempt === jobAttempts) {
        return fromOutside || !canaries ? asInfrastructure(result) : asDoingOfTheCode(result, failures);
      }
      // No canary after an end from outside: its result would change nothing.
      canaries &&= fromOutside || (await this.#canarySucceeds(job.request.language, signal));
    }
  }

  async #attempt(options: {
    readonly job: Job;
    readonly signal: AbortSignal;
    readonly attempt: number;
    /** The time at which the job was queued. */
    readonly queued: number;
  }): Promise<{ readonly result: ExecuteResult; readonly fromOutside: boolean }> {
    const { job, signal, attempt: attempts, queued } = options;
    const { id, request } = job;
    let worker: ExecuteResult["worker"] | undefined;
    try {
      const slot = await this.#acquire(signal, { first: attempts > 1, alone: attempts === jobAttempts });
      const queueMs = performance.now() - queued;
      slot.jobs++;
      worker = { id: slot.id, generation: slot.generation, jobs: slot.jobs };
      const { endedFromOutside = false, ...finished } = await this.#runOn(slot, job, signal);
      const result = { ...finished, id, worker, attempts, usage: { ...finished.usage, queueMs } };
      return { result, fromOutside: endedFromOutside };
    } catch (error) {
      const { aborted } = signal;
      const result = unreachedResult({ id, request, attempts, error, aborted, worker });
      return { result, fromOutside: error instanceof WorkerFailure && error.fromOutside };
    }
  }

  /** True if a worker runs the canary job correctly. */
  async #canarySucceeds(language: Language, signal: AbortSignal): Promise<boolean> {
    try {
      const slot = await this.#acquire(signal, { first: true, alone: false });
      slot.jobs++;
      return canarySucceeded(await this.#runOn(slot, canaryJob(language), signal));
    } catch {
      return false;
    }
  }

  async #runOn(slot: Slot, job: Job, signal: AbortSignal): Promise<WorkerResult> {
    let failed = true;
    try {
      const result = await slot.worker.run(job, signal);
      failed = false;
      return result;
    } finally {
      this.#release(slot, !failed && slot.worker.reusable);
    }
  }

  /** Returns an idle worker, or waits for the next free worker. */
  async #acquire(
    signal: AbortSignal,
    { first, alone }: { readonly first: boolean; readonly alone: boolean },
  ): Promise<Slot> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter = { resolve, reject, alone };
    if (first) this.#waiting.unshift(waiter);
    else this.#waiting.push(waiter);
    const onAbort = (): void => {
      const place = this.#waiting.indexOf(waiter);
      if (place !== -1) this.#waiting.splice(place, 1);
      reject(signal.reason);
      // This job may have needed the pool for itself. The other jobs can start now.
      this.#dispatch();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#dispatch();
    try {
      const slot = await promise;
      if (!signal.aborted) return slot;
      this.#release(slot, true);
      throw signal.reason;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Gives idle workers to the jobs that wait longest, and starts workers for the other jobs. */
  #dispatch(): void {
    const { workers, spares } = this.#options;
    while (this.#waiting.length > 0 && this.#idle.length > 0 && this.#running < workers && this.#alone === undefined) {
      const { alone } = this.#waiting[0]!;
      if (alone && this.#running > 0) break;
      const place = alone ? this.#idle.findLastIndex(({ jobs }) => jobs === 0) : this.#idle.length - 1;
      // A fresh worker takes the place of a used one.
      const slot = place !== -1 ? this.#idle.splice(place, 1)[0]! : this.#idle.pop()!;
      // The worker may have died while it was idle.
      if (place === -1 || !slot.worker.reusable) {
        this.#discard(slot);
        continue;
      }
      this.#running++;
      if (alone) this.#alone = slot;
      this.#waiting.shift()!.resolve(slot);
    }
    const used = Math.min(this.#running + this.#waiting.length, workers);
    for (const started of this.#startUpTo(used === 0 ? 0 : used + spares)) started.catch(() => undefined);
  }

  /** Starts workers until there are `wanted` workers. */
  #startUpTo(wanted: number): Promise<void>[] {
    if (this.#closing.signal.aborted) return [];
    const missing = wanted - this.#running - this.#idle.length - this.#starting;
    return Array.from({ length: Math.max(0, missing) }, () => this.#track(this.#startSlot()));
  }

  async #startSlot(): Promise<void> {
    const generation = this.#generation++;
    this.#starting++;
    let worker: Worker;
    try {
      worker = await this.#startWorker();
    } catch (error) {
      this.#starting--;
      // Jobs can wait for the other workers. Without any worker they would wait forever.
      const others = this.#running + this.#idle.length + this.#starting;
      if (others === 0) for (const waiter of this.#waiting.splice(0)) waiter.reject(error);
      throw error;
    }
    this.#starting--;
    const slot = this.#slotOf(worker, generation);
    if (this.#closing.signal.aborted) this.#discard(slot);
    else {
      this.#idle.push(slot);
      this.#dispatch();
    }
  }

  #slotOf(worker: Worker, generation: number): Slot {
    return { id: this.#idOf(generation), generation, worker, jobs: 0 };
  }

  #idOf(generation: number): string {
    return `${this.info.backend}-${generation}`;
  }

  /**
   * Starts one worker. Failed starts are retried with increasing delays: a few times and, if a worker has started
   * before or the start was ended from outside, until the time budget is used up. A restarted engine needs time.
   */
  async #startWorker(): Promise<Worker> {
    const { signal } = this.#closing;
    const before = this.#refusal;
    const begun = performance.now();
    for (let attempt = 1; ; attempt++) {
      try {
        const worker = await this.#starts.run(() => this.#startUnlessRefused(before));
        this.#hasStarted = true;
        this.#isOut = false;
        return worker;
      } catch (error) {
        if (signal.aborted) throw closedError();
        const isSpent = performance.now() - begun >= this.#startBudgetMs();
        const mayRepeat = attempt < startAttempts && !isPermanent(error);
        // A machine that kills starts has not shown that none can succeed.
        const persists = this.#hasStarted || (error instanceof WorkerFailure && error.fromOutside);
        if (persists ? isSpent && !mayRepeat : !mayRepeat) {
          throw isPermanent(error) ? error : unavailableError(error, attempt);
        }
        if (this.#hasStarted) this.#warnOfOutage(error);
      }
      const pause = Math.min(firstPauseMs * 4 ** (attempt - 1), longestPauseMs);
      await sleep(pause, undefined, { signal }).catch(() => {
        throw closedError();
      });
    }
  }

  #startBudgetMs(): number {
    return this.#options.startBudgetMs ?? startBudgetMs * machineLoad();
  }

  /** Warns once that workers do not start. The warning is reset when a worker starts. */
  #warnOfOutage(error: unknown): void {
    if (this.#isOut) return;
    this.#isOut = true;
    const seconds = Math.round(this.#startBudgetMs() / 1000);
    const message = toErrorData(error).message.replace(/\.?$/, ".");
    warn(
      "SandboxWarning",
      `A worker of the ${this.info.backend} sandbox does not start: ${message} Retrying for ${seconds} s.`,
    );
  }

  /** Starts one worker. Rejects at once if another start failed permanently: each failing start takes seconds. */
  async #startUnlessRefused(before: LyceumError | undefined): Promise<Worker> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    if (!this.#hasStarted && this.#refusal !== undefined && this.#refusal !== before) throw this.#refusal;
    try {
      return await watchedStart({ start: this.#start, signal });
    } catch (error) {
      if (isPermanent(error)) this.#refusal = error;
      throw error;
    }
  }

  #release(slot: Slot, reusable: boolean): void {
    this.#running--;
    if (this.#alone === slot) this.#alone = undefined;
    if (reusable && !this.#closing.signal.aborted) this.#idle.push(slot);
    else this.#discard(slot);
    this.#dispatch();
  }

  #discard({ worker }: Slot): void {
    if (!this.#closing.signal.aborted) this.#killed++;
    this.#track(worker[Symbol.asyncDispose]()).catch(() => undefined);
  }

  /** Adds work that closing waits for. */
  #track<T>(work: PromiseLike<T>): Promise<T> {
    const promise = Promise.resolve(work);
    this.#unsettled.add(promise);
    const forget = (): void => {
      this.#unsettled.delete(promise);
    };
    promise.then(forget, forget);
    return promise;
  }

  #throwIfClosed(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }
}

/** True if a busy machine may be at fault: honest code then reaches its wall time with little processor time. */
function isIdleTimeout({ status, usage }: ExecuteResult, cpuMs: number): boolean {
  return status === "timeout_wall" && usage.cpuMs < cpuMs / 2;
}

/** True if the worker failed or a signal killed the process. The result alone does not show who is at fault. */
function hasFailed({ status, exit }: ExecuteResult): boolean {
  return status === "infra_error" || (status === "signal" && outsideSignals.includes(exit.signal));
}

/** True if no worker has run the job. */
function wasNotReached({ worker }: ExecuteResult): boolean {
  return worker.id === "";
}

function asInfrastructure(result: ExecuteResult): ExecuteResult {
  return { ...result, status: "infra_error" };
}

function asDoingOfTheCode(result: ExecuteResult, failures: number): ExecuteResult {
  if (result.status !== "infra_error") return result;
  const why = result.error?.message ?? "";
  const message = `Its worker failed ${failures} times, but ran a canary job in between: ${why}`.trim();
  return { ...result, status: "violation", error: { type: "violation", message } };
}

/** True if workers cannot run on this machine. */
function isPermanent(error: unknown): error is LyceumError {
  return LyceumError.isInstance(error) && error.code === "sandbox.unavailable" && !(error instanceof WorkerFailure);
}

function unavailableError(cause: unknown, attempts: number): LyceumError {
  return new LyceumError({
    code: "sandbox.unavailable",
    message: `No worker started in ${attempts} attempts: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: "Check what ends its process (memory, a process limit, a missing file), or choose another sandbox.",
    cause,
  });
}

function closedError(): LyceumError {
  return new LyceumError({
    code: "sandbox.closed",
    message: "The sandbox is closed.",
    hint: "Await all executions before you close the sandbox.",
  });
}
