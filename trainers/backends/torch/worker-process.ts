import type { Duplex } from "node:stream";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { encodeFrame, type Frame, type FrameArrays, FrameReader } from "./frames.ts";
import { type LaunchedWorker, launchWorker, type WorkerProcesses } from "./launch-worker.ts";

/** What a worker says of itself when it has started. */
export interface WorkerInfo {
  readonly device: string;
  /** The name of the card that computes. Null on a CPU. */
  readonly card: string | null;
  /** The threads of each process on a CPU. */
  readonly threads: number;
  readonly precision: "float32" | "float16" | "bfloat16";
  readonly python: string;
  readonly executable: string;
  readonly torch: string;
  /** The version of CUDA that PyTorch was built for. Null for a CPU build. */
  readonly cuda: string | null;
  readonly transformers: string;
  readonly peft: string;
  readonly cards: readonly { readonly name: string; readonly bytes: number }[];
  readonly sampler: "torch" | "vllm";
  /** The processes that compute, on all machines. */
  readonly processes: number;
}

/** The settings that a worker starts with. */
export interface WorkerSettings extends WorkerProcesses {
  readonly device?: string | undefined;
  readonly deviceIndex?: number | undefined;
  readonly precision?: string | undefined;
  readonly quantize?: 4 | 8 | undefined;
  readonly threads?: number | undefined;
  readonly recompute?: boolean | undefined;
  readonly strategy?: "ddp" | "fsdp" | undefined;
  readonly decodeBatchSize?: number | undefined;
  readonly sampler?: "torch" | "vllm" | undefined;
  readonly samplerMemory?: number | undefined;
  readonly compile?: boolean | undefined;
}

/** The answer to a call. */
export interface WorkerAnswer {
  readonly value: Readonly<Record<string, unknown>>;
  readonly arrays: FrameArrays;
}

interface Pending {
  readonly onItem: ((arrays: FrameArrays) => void) | undefined;
  readonly resolve: (answer: WorkerAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The last bytes of the worker's stderr that an error shows. */
const shownBytes = 4000;
/** A worker that does not end when its stream closes is killed after this time. */
const endMs = 10_000;

/** A Python process that runs models. It ends when this process ends, because its stream then closes. */
export class WorkerProcess implements AsyncDisposable {
  readonly info: WorkerInfo;
  readonly #worker: LaunchedWorker;
  readonly #stream: Duplex;
  readonly #pending: Map<number, Pending>;
  #lastId = 0;
  #ended: LyceumError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(parts: Started) {
    this.info = parts.info;
    this.#worker = parts.worker;
    this.#stream = parts.stream;
    this.#pending = parts.pending;
    parts.onEnd((error) => {
      this.#ended ??= error;
      for (const { reject } of [...this.#pending.values()]) reject(this.#ended);
      this.#pending.clear();
    });
    this.#holdProcess();
  }

  /**
   * Starts a worker with an interpreter that has torch, transformers and peft. Throws `backend.unsupported` if it has
   * not, or if the device does not work, and `backend.failed` if the worker does not start.
   */
  static async start(python: string, settings: WorkerSettings, signal?: AbortSignal): Promise<WorkerProcess> {
    return new WorkerProcess(await start(python, settings, signal));
  }

  /** True if the worker accepts no more calls. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** The worker's process id. */
  get pid(): number | undefined {
    return this.#worker.child.pid;
  }

  /** Calls the worker and returns its answer. `onItem` gets what a call of `sample` sends before it ends. */
  call(
    name: string,
    argument: Readonly<Record<string, unknown>>,
    options: {
      readonly arrays?: FrameArrays;
      readonly shapes?: Readonly<Record<string, readonly number[]>>;
      readonly onItem?: (arrays: FrameArrays) => void;
      /** Receives the id of the call, by which {@link notify} names it. */
      readonly onId?: (id: number) => void;
    } = {},
  ): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended;
      this.#lastId += 1;
      const id = this.#lastId;
      const frame = encodeFrame({ id, call: name, ...argument }, options.arrays, options.shapes);
      this.#pending.set(id, { onItem: options.onItem, resolve, reject });
      options.onId?.(id);
      this.#write(frame);
      this.#holdProcess();
    });
  }

  /** Sends a message that has no answer. */
  notify(name: string, argument: Readonly<Record<string, unknown>>): void {
    if (this.#ended === undefined) this.#write(encodeFrame({ id: 0, call: name, ...argument }));
  }

  /**
   * Ends the worker. An idle one ends well, and so do its processes on other machines. Running calls are rejected, and the
   * worker then ends with an error.
   */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const idle = this.#ended === undefined && this.#pending.size === 0;
    if (idle) this.notify("end", {});
    this.#ended ??= endedError("The PyTorch backend was closed.");
    for (const { reject } of [...this.#pending.values()]) reject(this.#ended);
    this.#pending.clear();
    this.#worker.child.ref();
    if (!idle) this.#stream.destroy();
    const kill = setTimeout(() => this.#worker.kill(), endMs);
    await this.#worker.ended;
    clearTimeout(kill);
    this.#stream.destroy();
  }

  #write(frame: readonly Buffer[]): void {
    this.#stream.cork();
    for (const part of frame) this.#stream.write(part);
    this.#stream.uncork();
  }

  /** A worker with calls keeps this process alive. An idle one does not. */
  #holdProcess(): void {
    const hold = this.#pending.size > 0 ? "ref" : "unref";
    const { child } = this.#worker;
    child[hold]();
    (this.#stream as Duplex & { ref(): void; unref(): void })[hold]();
    const { stderr } = child as { stderr: unknown };
    (stderr as { unref?: () => void } | null)?.unref?.();
  }
}

interface Started {
  readonly info: WorkerInfo;
  readonly worker: LaunchedWorker;
  readonly stream: Duplex;
  readonly pending: Map<number, Pending>;
  readonly onEnd: (listener: (error: LyceumError) => void) => void;
}

async function start(python: string, settings: WorkerSettings, signal: AbortSignal | undefined): Promise<Started> {
  signal?.throwIfAborted();
  const { processes, nodes, rendezvous, ...sent } = settings;
  const pending = new Map<number, Pending>();
  const reader = new FrameReader();
  const { promise, resolve, reject } = Promise.withResolvers<Started>();
  let end: (error: LyceumError) => void = reject;
  const receive = ({ header, arrays }: Frame): void => {
    const call = pending.get(header.id as number);
    if (header.type === "item") call?.onItem?.(arrays);
    else {
      pending.delete(header.id as number);
      if (header.type === "error") call?.reject(errorOf(header.error as WorkerErrorData));
      else call?.resolve({ value: (header.value ?? {}) as WorkerAnswer["value"], arrays });
    }
  };
  const onStream = (stream: Duplex): void => {
    pending.set(0, {
      onItem: undefined,
      reject,
      resolve: ({ value }) => {
        const info = value as unknown as WorkerInfo;
        resolve({ info, worker, stream, pending, onEnd: (listener) => (end = listener) });
      },
    });
    stream.on("data", (chunk: Buffer) => {
      try {
        for (const frame of reader.push(chunk)) receive(frame);
      } catch (error) {
        worker.kill();
        end(error as LyceumError);
      }
    });
    // What the stream reports is also reported by the exit of the process.
    stream.on("error", () => undefined);
  };
  const worker = await launchWorker(python, { processes, nodes, rendezvous }, sent, onStream);
  const { child } = worker;
  const errors: Buffer[] = [];
  for (const output of [child.stdout, child.stderr]) {
    output!.on("data", (chunk: Buffer) => {
      errors.push(chunk);
      while (errors.length > 1 && Buffer.concat(errors).length > 2 * shownBytes) errors.shift();
    });
  }
  const shown = (): string => Buffer.concat(errors).toString("utf8").slice(-shownBytes).trim();
  const onAbort = (): void => {
    end = () => reject(signal!.reason);
    worker.kill();
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  child.on("error", (cause) => end(missingPython(python, cause)));
  child.on("exit", (code, killed) => end(exitError({ python, code, killed, shown: shown() })));
  try {
    return await promise;
  } catch (error) {
    worker.kill();
    await worker.ended;
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

interface WorkerErrorData {
  readonly code: LyceumError["code"];
  readonly message: string;
  readonly hint: string;
}

function errorOf({ code, message, hint }: WorkerErrorData): Error {
  return code === "aborted" ? new DOMException(message, "AbortError") : new LyceumError({ code, message, hint });
}

const packages = ["torch", "transformers", "peft", "safetensors", "numpy"];

function exitError(exit: {
  readonly python: string;
  readonly code: number | null;
  readonly killed: NodeJS.Signals | null;
  readonly shown: string;
}): LyceumError {
  const { python, code, killed, shown } = exit;
  const missing = /ModuleNotFoundError: No module named '([\w.]+)'/.exec(shown)?.[1];
  if (missing !== undefined && packages.includes(missing.split(".")[0]!)) {
    return new LyceumError({
      code: "backend.unsupported",
      message: `${python} has no package ${missing}.`,
      hint: `Run lyceum setup torch, which makes an environment with everything, or ${python} -m pip install ${packages.join(" ")}.`,
      data: { python, missing },
    });
  }
  const how = killed === null ? `with code ${code}` : `by ${killed}`;
  const last = shown === "" ? "" : ` Its last output: ${shown}`;
  return endedError(`The PyTorch worker has ended ${how}.${last}`);
}

function missingPython(python: string, cause: Error): LyceumError {
  return new LyceumError({
    code: "backend.unsupported",
    message: `The Python interpreter ${python} cannot be started: ${cause.message}.`,
    hint: "Run lyceum setup torch, or name an interpreter with PyTorch in backend.python or LYCEUM_PYTHON.",
    data: { python },
    cause,
  });
}

function endedError(message: string): LyceumError {
  return new LyceumError({
    code: "backend.failed",
    message,
    hint: "Open a new backend; a checkpoint resumes the run. If memory ran out, lower training.maxTokensPerMicroBatch.",
  });
}
