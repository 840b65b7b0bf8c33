import ivm from "isolated-vm";
import type { CapturedOutput, CodeError } from "../execution.ts";
import type { Job } from "../pool/worker.ts";
import type { Guest, GuestCall, GuestCases, GuestOptions, GuestReply } from "./guest/guest.ts";
import type { Send, Stream } from "./guest/output.ts";
import type { IsolateSupply } from "./isolate-supply.ts";
import { errorOf, evaluateModule, hasValue, looksLikeModule, needsModule } from "./modules.ts";
import { Ended, outOfMemory, type Watchdog } from "./watchdog.ts";

const neverEnds = { type: "Error", message: "The module waits for a promise that never settles." };

/** A fresh isolate with the code under test. */
export class Session implements Disposable {
  readonly isolate: ivm.Isolate;
  /** The first error of a promise that the code rejected and did not handle. */
  unhandled: CodeError | undefined;
  readonly #context: ivm.Context;
  /** An `Enter`. */
  readonly #program: ivm.Reference;
  /** The start arguments of the guest. Empty after it has started. */
  #start: readonly unknown[];
  readonly #watchdog: Watchdog;
  readonly #job: Job;
  readonly #files: Readonly<Record<string, string>>;
  /** Rejects if the code ends its process. */
  readonly #exited = Promise.withResolvers<never>();
  /** The processor time of the isolate before this session. */
  readonly #cpuStart: number;
  readonly #output = { stdout: { text: "", bytes: 0 }, stderr: { text: "", bytes: 0 } };

  /** `onCase` is called with the reply to each case as it arrives. */
  constructor(options: {
    readonly job: Job;
    readonly files: Readonly<Record<string, string>>;
    readonly stdin: string;
    readonly references: boolean;
    readonly watchdog: Watchdog;
    readonly supply: IsolateSupply;
    readonly nodeLibrary: (name: string) => string;
    readonly onCase: (reply: GuestReply) => void;
  }) {
    const { job, files, stdin, references, watchdog, supply, nodeLibrary, onCase } = options;
    const { depth, outputBytes, resultBytes, memoryMb } = job.limits;
    this.#job = job;
    this.#files = files;
    this.#watchdog = watchdog;
    this.#exited.promise.catch(() => undefined);
    const supplied = supply.take(memoryMb);
    supplied.onCatastrophe = () => watchdog.end(outOfMemory(memoryMb));
    this.isolate = supplied.isolate;
    this.#context = supplied.context;
    this.#cpuStart = Number(this.isolate.cpuTime) / 1e6;
    const send: Send = (kind, count, text) => {
      if (kind === "exit") this.#exited.reject(new Ended("exited", `It ended the process with code ${count}.`, count));
      else if (kind === "case") onCase(JSON.parse(text) as GuestReply);
      else {
        this.#output[kind].text += text;
        this.#output[kind].bytes = count;
      }
    };
    const { entry } = job.request;
    const guest: GuestOptions = { depth, outputBytes, resultBytes, seed: job.seed, stdin, entry, files, references };
    this.#program = supplied.program;
    const callbacks = [new ivm.Callback(send, { ignored: true }), new ivm.Callback(nodeLibrary)];
    this.#start = ["start", ...callbacks, JSON.stringify(guest)];
  }

  get cpuMs(): number {
    return this.isolate.isDisposed ? 0 : Number(this.isolate.cpuTime) / 1e6 - this.#cpuStart;
  }

  /** Runs the entry, keeps its values with these names, and calls them for the cases, if any. */
  async load(names: readonly string[], cases?: GuestCases): Promise<GuestReply> {
    const { entry } = this.#job.request;
    const source = this.#files[entry]!;
    const calls = cases === undefined ? undefined : JSON.stringify(cases);
    const list = names.map((name) => `${JSON.stringify(name)}: typeof ${name} === "undefined" ? undefined : ${name}`);
    const kept = `{ ${list.join(", ")} }`;
    if (!looksLikeModule(source)) {
      const reply = await this.#settled("loadScript", source, kept, calls);
      if (!needsModule(reply)) return reply;
    }
    // The globals must exist before the module runs.
    if (this.#start.length > 0) await this.#ask();
    const evaluation = evaluateModule({
      isolate: this.isolate,
      context: this.#context,
      files: this.#files,
      entry,
      kept,
    });
    const { namespace, name, error, unhandled } = await this.#race(evaluation);
    if (error !== undefined) return { outcome: "raised", error };
    if (unhandled !== undefined) await this.#ask(...this.#noteUnhandled(unhandled.error));
    // It may wait for timers before its end.
    while (!(await this.#race(hasValue(namespace!, name)))) {
      if ((await this.#ask("pump")).outcome !== "none") continue;
      return { outcome: "raised", error: this.unhandled ?? neverEnds };
    }
    return await this.#settled("loadModule", namespace!.derefInto(), name, calls);
  }

  /** Calls into the code, and awaits a returned promise. */
  async call(request: GuestCall): Promise<GuestReply> {
    return await this.#settled("call", JSON.stringify(request));
  }

  /** Runs timers until none is left. */
  async runTimers(): Promise<void> {
    while ((await this.#ask("pump")).outcome !== "none");
  }

  output(stream: Stream): CapturedOutput {
    const { text, bytes } = this.#output[stream];
    return { text, bytes, truncated: bytes > Buffer.byteLength(text) };
  }

  [Symbol.dispose](): void {
    if (!this.isolate.isDisposed) this.isolate.dispose();
  }

  async #settled(name: keyof Guest, ...args: unknown[]): Promise<GuestReply> {
    let reply = await this.#ask(name, ...args);
    while (reply.outcome === "pending") reply = await this.#ask("pump");
    return reply;
  }

  /**
   * Calls a function of the guest, and starts the guest first if needed. If the code has an unhandled rejection,
   * isolated-vm returns that error instead of the reply. The guest then returns its reply again.
   */
  async #ask(...call: [] | [name: keyof Guest, ...args: unknown[]]): Promise<GuestReply> {
    let args: unknown[] = [...this.#start, ...call];
    this.#start = [];
    for (;;) {
      try {
        const work = this.#program.apply(undefined, args) as Promise<string>;
        return JSON.parse(await this.#race(work)) as GuestReply;
      } catch (error) {
        if (error instanceof Ended) throw error;
        args = this.#noteUnhandled(error);
      }
    }
  }

  /** Records the first unhandled error. Returns the call with which the guest writes it to stderr and replies again. */
  #noteUnhandled(error: unknown): ["again", uncaught: string] {
    const isFirst = this.unhandled === undefined;
    this.unhandled ??= errorOf(error, this.#job.request.entry);
    return ["again", isFirst ? `Uncaught ${this.unhandled.type}: ${this.unhandled.message}\n` : ""];
  }

  /** Waits until work in the isolate ends or a limit ends it. */
  async #race<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.#watchdog.ended, this.#exited.promise]);
    } catch (error) {
      if (error instanceof Ended || !this.isolate.isDisposed) throw error;
      throw outOfMemory(this.#job.limits.memoryMb);
    }
  }
}
