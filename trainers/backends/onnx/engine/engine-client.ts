import { Worker } from "node:worker_threads";
import { fromErrorData, LyceumError } from "../../../../src/errors/index.ts";
import type { EngineCalls, EngineSettings } from "./engine-calls.ts";
import type { EngineReply, EngineRequest } from "./engine-messages.ts";

/** A call that waits for its result. */
interface Pending {
  readonly onItem: ((item: unknown) => void) | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The engine as the caller's thread sees it: calls by message to a worker thread that this client owns. */
export class EngineClient implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #ended: LyceumError | undefined;

  constructor(settings: EngineSettings) {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    this.#worker = new Worker(new URL(`./worker.${extension}`, import.meta.url), {
      workerData: settings,
      execArgv: [],
    });
    this.#worker.on("message", (reply: EngineReply) => this.#receive(reply));
    this.#worker.on("error", (cause) => this.#end("stopped by an error", cause));
    this.#worker.on("exit", () => this.#end("stopped"));
    // An idle engine does not keep the process alive; a working one does.
    this.#worker.unref();
  }

  /** Asks the engine. An aborted call rejects with the signal's reason once the engine has stopped working on it. */
  call<Method extends keyof EngineCalls>(
    method: Method,
    argument: Parameters<EngineCalls[Method]>[0],
    options: { readonly signal?: AbortSignal | undefined; readonly onItem?: (item: unknown) => void } = {},
  ): ReturnType<EngineCalls[Method]> {
    const { signal, onItem } = options;
    const result = new Promise<unknown>((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#ended !== undefined) throw this.#ended;
      this.#lastId += 1;
      const id = this.#lastId;
      const onAbort = (): void => this.#send({ type: "abort", id });
      signal?.addEventListener("abort", onAbort, { once: true });
      const settle = (): void => {
        signal?.removeEventListener("abort", onAbort);
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
      this.#send({ type: "call", id, method, argument });
    });
    return result as ReturnType<EngineCalls[Method]>;
  }

  /** Ends the thread. Calls under way are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended !== undefined) return;
    await this.call("close", {}).catch(() => undefined);
    await this.#worker.terminate();
  }

  #send(request: EngineRequest): void {
    this.#worker.postMessage(request);
  }

  #receive(reply: EngineReply): void {
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    if (reply.type === "item") pending.onItem?.(reply.item);
    else if (reply.type === "result") pending.resolve(reply.result);
    else pending.reject(fromErrorData(reply.error));
  }

  #end(how: string, cause?: unknown): void {
    this.#ended ??= new LyceumError({
      code: "backend.failed",
      message: `The engine's thread has ${how}.`,
      hint: "Open a new backend; a checkpoint resumes the run.",
      cause,
    });
    for (const pending of [...this.#pending.values()]) pending.reject(this.#ended);
  }
}
