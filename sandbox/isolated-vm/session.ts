import ivm from "isolated-vm";
import type { CapturedOutput } from "../execution.ts";
import type { Job } from "../pool/worker.ts";
import type { CompiledProgram } from "./compiled-program.ts";
import type { Guest, GuestCall, GuestOptions, GuestReply } from "./guest/guest.ts";
import { evaluateModule, looksLikeModule, needsModule } from "./modules.ts";
import { Ended, outOfMemory, type Watchdog } from "./watchdog.ts";

type Stream = "stdout" | "stderr";

/** A fresh isolate with the code under test in it. */
export class Session implements Disposable {
  readonly isolate: ivm.Isolate;
  readonly #context: ivm.Context;
  readonly #guest: Record<keyof Guest, ivm.Reference>;
  readonly #watchdog: Watchdog;
  readonly #job: Job;
  readonly #files: Readonly<Record<string, string>>;
  /** Rejects where the code ends its process. */
  readonly #exited = Promise.withResolvers<never>();
  readonly #output = { stdout: { text: "", bytes: 0 }, stderr: { text: "", bytes: 0 } };

  constructor(options: {
    readonly job: Job;
    readonly files: Readonly<Record<string, string>>;
    readonly stdin: string;
    readonly references: boolean;
    readonly watchdog: Watchdog;
    readonly program: CompiledProgram;
  }) {
    const { job, files, stdin, references, watchdog, program } = options;
    const { depth, outputBytes, resultBytes, memoryMb } = job.limits;
    this.#job = job;
    this.#files = files;
    this.#watchdog = watchdog;
    this.#exited.promise.catch(() => undefined);
    this.isolate = createIsolate(memoryMb, watchdog);
    this.#context = this.isolate.createContextSync();
    const send = new ivm.Callback(
      (kind: Stream | "exit", count: number, text: string) => {
        if (kind === "exit")
          this.#exited.reject(new Ended("exited", `It ended the process with code ${count}.`, count));
        else {
          this.#output[kind].text += text;
          this.#output[kind].bytes = count;
        }
      },
      { ignored: true },
    );
    const { entry } = job.request;
    const guest: GuestOptions = { depth, outputBytes, resultBytes, seed: job.seed, stdin, entry, files, references };
    const functions = program.run(this.isolate, this.#context, [send, JSON.stringify(guest)]);
    const member = (name: keyof Guest): ivm.Reference => functions.getSync(name, { reference: true });
    this.#guest = {
      loadScript: member("loadScript"),
      loadModule: member("loadModule"),
      call: member("call"),
      pump: member("pump"),
    };
  }

  get cpuMs(): number {
    return this.isolate.isDisposed ? 0 : Number(this.isolate.cpuTime) / 1e6;
  }

  /** Runs the entry and keeps what it has of these names. */
  async load(names: readonly string[]): Promise<GuestReply> {
    const { entry } = this.#job.request;
    const source = this.#files[entry]!;
    const list = names.map((name) => `${JSON.stringify(name)}: typeof ${name} === "undefined" ? undefined : ${name}`);
    const kept = `{ ${list.join(", ")} }`;
    if (!looksLikeModule(source)) {
      const reply = await this.#ask("loadScript", source, kept);
      if (!needsModule(reply)) return reply;
    }
    const evaluation = evaluateModule({
      isolate: this.isolate,
      context: this.#context,
      files: this.#files,
      entry,
      kept,
    });
    const { namespace, name, error } = await this.#race(evaluation);
    if (error !== undefined) return { outcome: "raised", error };
    return await this.#ask("loadModule", namespace!.derefInto(), name);
  }

  /** Calls into the code, and waits where that gives a promise. */
  async call(request: GuestCall): Promise<GuestReply> {
    let reply = await this.#ask("call", JSON.stringify(request));
    while (reply.outcome === "pending") reply = await this.#ask("pump");
    if (reply.outcome !== "none") return reply;
    return {
      outcome: "raised",
      error: { type: "Error", message: "The promise never settles: nothing is left to run." },
    };
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

  async #ask(name: keyof Guest, ...args: unknown[]): Promise<GuestReply> {
    return JSON.parse(await this.#race(this.#guest[name].apply(undefined, args) as Promise<string>)) as GuestReply;
  }

  /** The end of work in the isolate, or what ended it. */
  async #race<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.#watchdog.ended, this.#exited.promise]);
    } catch (error) {
      if (error instanceof Ended || !this.isolate.isDisposed) throw error;
      throw outOfMemory(this.#job.limits.memoryMb);
    }
  }
}

/** An isolate under a memory limit. Where V8 gives up, the job ends as out of memory, and its process after it. */
export function createIsolate(memoryMb: number, watchdog: Watchdog): ivm.Isolate {
  return new ivm.Isolate({
    memoryLimit: Math.max(8, memoryMb),
    onCatastrophicError: () => watchdog.end(outOfMemory(memoryMb)),
  });
}
