import { Worker } from "node:worker_threads";
import { fromErrorData, LyceumError } from "../../../../src/contract/errors/index.ts";
import type { EngineCalls, EngineSettings } from "./engine-calls.ts";
import { type EngineReply, type EngineRequest, itemsPerReceipt } from "./engine-messages.ts";

/** A call that waits for its result. */
interface Pending {
  readonly onItem: ((item: unknown) => void) | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The engine's client in the caller's thread. Sends calls as messages to a worker thread that it owns. */
export class EngineClient implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  /** The items since the last receipt. */
  #received = 0;
  /** The error that every further call throws, if the engine has ended. */
  #ended: LyceumError | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: EngineSettings) {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    this.#worker = new Worker(new URL(`./worker.${extension}`, import.meta.url), {
      workerData: settings,
      execArgv: [],
    });
    this.#worker.on("message", (reply: EngineReply) => this.#receive(reply));
    this.#worker.on("error", (cause) => this.#end(`The engine's thread has failed: ${cause.message}.`, cause));
    this.#worker.on("exit", () => this.#end("The engine's thread has stopped."));
    // An idle engine does not keep the process alive. A working engine does.
    this.#worker.unref();
  }

  /**
   * Calls the engine. An aborted call rejects with the signal's reason after the engine has stopped working on it.
   * `signals` stop single requests of a call of `sample`.
   */
  call<Method extends keyof EngineCalls>(
    method: Method,
    argument: Parameters<EngineCalls[Method]>[0],
    options: {
      readonly signal?: AbortSignal | undefined;
      readonly signals?: readonly AbortSignal[] | undefined;
      readonly onItem?: (item: unknown) => void;
    } = {},
  ): ReturnType<EngineCalls[Method]> {
    const { signal, signals = [], onItem } = options;
    const result = new Promise<unknown>((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#ended !== undefined) throw this.#ended;
      this.#lastId += 1;
      const id = this.#lastId;
      // Sent first, because it throws if the argument cannot be cloned.
      this.#send({ type: "call", id, method, argument });
      const onAbort = (): void => this.#send({ type: "abort", id });
      signal?.addEventListener("abort", onAbort, { once: true });
      const drops = [...Map.groupBy(signals.keys(), (index) => signals[index]!)].map(([dropping, requests]) => {
        const drop = (): void => this.#send({ type: "drop", id, requests });
        if (dropping.aborted) drop();
        dropping.addEventListener("abort", drop, { once: true });
        return { dropping, drop };
      });
      const settle = (): void => {
        signal?.removeEventListener("abort", onAbort);
        for (const { dropping, drop } of drops) dropping.removeEventListener("abort", drop);
        this.#pending.delete(id);
        if (this.#pending.size === 0) this.#worker.unref();
      };
      this.#pending.set(id, {
        onItem,
        resolve: (value) => {
          settle();
          resolve(value);
        },
        reject: (error) => {
          settle();
          reject(signal?.aborted === true ? signal.reason : error);
        },
      });
      this.#worker.ref();
    });
    return result as ReturnType<EngineCalls[Method]>;
  }

  /** True if the engine accepts no more calls. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Stops the thread. Stops and rejects running calls. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#ended === undefined) {
      for (const id of this.#pending.keys()) this.#send({ type: "abort", id });
      const running = [...this.#pending.values()];
      const closed = this.call("close", {});
      this.#ended = endedError("The engine was closed.");
      for (const pending of running) pending.reject(this.#ended);
      await closed.catch(() => undefined);
    }
    await this.#worker.terminate();
  }

  #send(request: EngineRequest): void {
    this.#worker.postMessage(request);
  }

  #receive(reply: EngineReply): void {
    if (reply.type === "item") {
      this.#received += 1;
      if (this.#received === itemsPerReceipt) {
        this.#send({ type: "received", count: this.#received });
        this.#received = 0;
      }
    }
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    if (reply.type === "item") pending.onItem?.(reply.item);
    else if (reply.type === "result") pending.resolve(reply.result);
    else pending.reject(fromErrorData(reply.error));
  }

  #end(message: string, cause?: unknown): void {
    this.#ended ??= endedError(message, cause);
    for (const pending of [...this.#pending.values()]) pending.reject(this.#ended);
  }
}

function endedError(message: string, cause?: unknown): LyceumError {
  const hint = "Open a new backend; a checkpoint resumes the run.";
  return new LyceumError({ code: "backend.failed", message, hint, cause });
}
