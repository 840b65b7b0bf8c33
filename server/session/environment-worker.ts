import { Worker } from "node:worker_threads";
import { fromErrorData, LyceumError, toErrorData } from "../../src/contract/errors/index.ts";
import { startTimer } from "../../src/core/rollout/rollout-limits.ts";
import { CallTable } from "./call-table.ts";
import type { ServedEnvironment } from "./environment-runner.ts";
import { messageBatch } from "./message-batch.ts";
import type { WorkerCalls, WorkerReply, WorkerRequest } from "./worker-messages.ts";

/** The time without a sign of life after which a thread counts as blocked, in milliseconds. */
const blockedMs = 1_000;
/** How often a thread's memory outside of its heap is measured, in milliseconds. */
const memoryMs = 250;

/** The options of a worker. */
export interface EnvironmentWorkerOptions {
  /** The URL of the module that opens the environments. */
  readonly module: string;
  readonly data: unknown;
  /** The timeout of a call in milliseconds. */
  readonly callMs: number;
  /** The limit of the thread's heap in megabytes, and of its typed arrays outside of the heap. */
  readonly heapMb: number;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Rejects the call because its thread has ended. */
  readonly lose: (error: LyceumError) => void;
}

/** The main thread's handle of a worker thread that runs environments. Use {@link startEnvironmentWorker}. */
export class EnvironmentWorker {
  environments: readonly ServedEnvironment[] = [];
  /** The number of sessions that the thread runs. The sessions count themselves. */
  sessions = 0;
  /** Resolves with the reason when the thread accepts no more calls. */
  readonly ended: Promise<string>;
  readonly #thread: Worker;
  readonly #callMs: number;
  readonly #beat = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  readonly #pending = new CallTable<Pending>();
  readonly #resolveEnded: (reason: string) => void;
  readonly #send = messageBatch<WorkerRequest>({
    post: (requests) => this.#thread.postMessage(requests),
    onFailure: ({ id }, error) => this.#pending.get(id)?.reject(error),
  });
  #lastSession = 0;
  #endReason: string | undefined;

  constructor({ module, data, callMs, heapMb }: EnvironmentWorkerOptions) {
    this.#callMs = callMs;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    this.#resolveEnded = resolve;
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    this.#thread = new Worker(new URL(`./worker-thread.${extension}`, import.meta.url), {
      workerData: { module, data, beat: this.#beat },
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#thread.on("message", (replies: readonly WorkerReply[]) => replies.forEach(this.#receive, this));
    this.#thread.on("messageerror", (cause) => this.#stop(`it sent an unreadable message: ${cause.message}`));
    this.#thread.on("error", (cause: Error) => this.#stop(reasonOf(cause)));
    this.#thread.on("exit", (code) => this.#stop(`it exited with code ${code}`));
    this.#watchMemory(heapMb * 2 ** 20);
    // An idle worker does not keep the process alive. A working one does.
    this.#thread.unref();
  }

  /** A number that no other session of this worker has. */
  newSession(): number {
    this.#lastSession += 1;
    return this.#lastSession;
  }

  /** True if environment code has blocked the thread for a second or longer. */
  get isBlocked(): boolean {
    return Number(process.hrtime.bigint() - Atomics.load(this.#beat, 0)) > blockedMs * 1e6;
  }

  /** Why the thread has ended, such as `it exited with code 1`. Undefined while it runs. */
  get endReason(): string | undefined {
    return this.#endReason;
  }

  /**
   * Calls the thread. An aborted call rejects when the thread has answered the abort. After the timeout the call is
   * aborted. If it still does not end, it rejects with `timeout`, and either the thread is blocked and is ended, or
   * `onHang` is called.
   */
  call<Method extends keyof WorkerCalls>(
    method: Method,
    argument: Parameters<WorkerCalls[Method]>[0],
    options: { readonly signal?: AbortSignal; readonly ms?: number; readonly onHang?: () => void } = {},
  ): Promise<ReturnType<WorkerCalls[Method]>> {
    const { signal, ms = this.#callMs, onHang } = options;
    const result = new Promise<unknown>((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#endReason !== undefined) throw endedError(this.#endReason);
      let late: LyceumError | undefined;
      const abort = (reason: unknown): void =>
        this.#send({ type: "abort", id, reason: toErrorData(reason, "aborted") });
      const onAbort = (): void => abort(signal?.reason);
      const expire = (): void => {
        late = timeoutError(method, ms);
        abort(late);
        timer = setTimeout(giveUp, blockedMs);
      };
      const giveUp = (): void => {
        settle(() => reject(late));
        if (this.isBlocked) void this.stop(`an environment blocked it for longer than ${ms} ms`);
        else onHang?.();
      };
      const settle = (how: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#pending.delete(id);
        if (this.#pending.size === 0) this.#thread.unref();
        how();
      };
      let timer = startTimer(ms, expire);
      signal?.addEventListener("abort", onAbort, { once: true });
      const id = this.#pending.add({
        resolve: (value) => settle(() => resolve(value)),
        reject: (error) => settle(() => reject(signal?.aborted === true ? signal.reason : (late ?? error))),
        lose: (error) => settle(() => reject(signal?.aborted === true ? signal.reason : error)),
      });
      if (this.#pending.size === 1) this.#thread.ref();
      this.#send({ type: "call", id, method, argument });
    });
    return result as Promise<ReturnType<WorkerCalls[Method]>>;
  }

  /** Ends the thread if its typed arrays exceed the limit, which the heap's own limit does not count. */
  #watchMemory(limit: number): void {
    const timer = setInterval(async () => {
      const used = await this.#thread.getHeapStatistics().catch(() => undefined);
      if (used !== undefined && used.external_memory > limit) await this.stop("its memory is used up");
    }, memoryMs);
    timer.unref();
    void this.ended.then(() => clearInterval(timer));
  }

  /** Ends the thread at once. Its running calls reject with `server.unknown-session`. */
  async stop(reason: string): Promise<void> {
    this.#stop(reason);
    await this.#thread.terminate();
  }

  #receive(reply: WorkerReply): void {
    const pending = this.#pending.get(reply.id);
    if (reply.type === "result") pending?.resolve(reply.result);
    else pending?.reject(fromErrorData(reply.error));
  }

  #stop(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    for (const pending of this.#pending.values()) pending.lose(endedError(reason));
    this.#resolveEnded(reason);
  }
}

/**
 * Starts a worker thread and opens its environments. Throws the error of the module, `timeout` after `startMs`, and
 * `environment.failed` if the thread ends meanwhile.
 */
export async function startEnvironmentWorker(
  options: EnvironmentWorkerOptions & { readonly startMs: number; readonly signal?: AbortSignal },
): Promise<EnvironmentWorker> {
  const worker = new EnvironmentWorker(options);
  const { startMs, signal } = options;
  const onAbort = (): void => void worker.stop("the start was aborted");
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    worker.environments = await worker.call("start", undefined, { signal, ms: startMs });
    return worker;
  } catch (error) {
    const reason = worker.endReason;
    await worker.stop("it did not start");
    throw reason === undefined || signal?.aborted === true ? error : startError(reason);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function reasonOf(cause: Error & { readonly code?: string }): string {
  return cause.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? "its memory is used up"
    : `an error was not caught: ${toErrorData(cause).message}`;
}

function startError(reason: string): LyceumError {
  return new LyceumError({
    code: "environment.failed",
    message: `A worker thread ended while it opened the environments: ${reason}.`,
    hint: "Check that the environments can be opened, and that they do not end the process.",
    data: { reason },
  });
}

function timeoutError(call: string, ms: number): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `An environment did not end ${call} within ${ms} ms.`,
    hint: "Check for an endless loop, or raise the server's limit of one call if it needs more time.",
    data: { call, ms },
  });
}

function endedError(reason: string): LyceumError {
  return new LyceumError({
    code: "server.unknown-session",
    message: `The session is lost, because its worker thread ended: ${reason}.`,
    hint: "Open another session. The server replaces the worker.",
    data: { reason },
  });
}
