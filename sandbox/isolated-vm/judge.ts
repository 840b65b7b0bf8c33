import ivm from "isolated-vm";
import type { CaseObservation } from "../execution.ts";
import type { Job } from "../pool/worker.ts";
import type { GuestCall } from "./guest/guest.ts";
import type { StandInOptions } from "./guest/stand-ins.ts";
import type { JobTools } from "./job-tools.ts";
import { errorOf } from "./modules.ts";
import type { Session } from "./session.ts";
import { Ended, outOfMemory, valueTooLarge, type Watchdog } from "./watchdog.ts";

/** An isolate with trusted tests. It has only stand-ins for the code of a session. */
export class Judge implements Disposable {
  readonly #isolate: ivm.Isolate;
  readonly #context: ivm.Context;
  readonly #pieces: readonly string[];
  readonly #watchdog: Watchdog;
  readonly #memoryMb: number;
  #ready: Promise<unknown> | undefined;

  constructor(options: {
    readonly job: Job;
    readonly session: Session;
    readonly watchdog: Watchdog;
    readonly tools: JobTools;
  }) {
    const { job, session, watchdog, tools } = options;
    const { task, language } = job.request;
    if (task.kind !== "judge") throw new Error("A judge needs tests.");
    const { depth, resultBytes, memoryMb } = job.limits;
    const strip = (code: string): string => (language === "typescript" ? tools.typeScript.javascriptOf(code) : code);
    this.#pieces = [task.setup ?? "", ...task.tests].map(strip);
    this.#watchdog = watchdog;
    this.#memoryMb = memoryMb;
    const supplied = tools.judges.take(memoryMb);
    supplied.onCatastrophe = () => watchdog.end(outOfMemory(memoryMb));
    this.#isolate = supplied.isolate;
    this.#context = supplied.context;
    const ask = new ivm.Reference(async (text: string) => {
      try {
        const reply = await session.call(JSON.parse(text) as GuestCall);
        if (reply.outcome === "too-large") throw valueTooLarge();
        return JSON.stringify(reply);
      } catch (error) {
        // The test must neither continue nor catch it.
        if (error instanceof Ended) watchdog.end(error);
        throw error;
      }
    });
    const standIns: StandInOptions = { exports: task.exports, depth, resultBytes };
    supplied.program.applySync(undefined, [ask, JSON.stringify(standIns)]);
  }

  get cpuMs(): number {
    return this.#isolate.isDisposed ? 0 : Number(this.#isolate.cpuTime) / 1e6;
  }

  /** Runs a test, and the setup before the first test. If the code makes the setup fail, all tests fail. */
  async run(index: number): Promise<CaseObservation> {
    const before = this.cpuMs;
    let name = "setup";
    try {
      this.#ready ??= this.#evaluate(this.#pieces[0]!, name);
      await this.#ready;
      name = `test-${index}`;
      await this.#evaluate(this.#pieces[index + 1]!, name);
      return { index, outcome: "returned", cpuMs: this.cpuMs - before };
    } catch (error) {
      if (!(error instanceof TestError)) throw error;
      return { index, outcome: "raised", error: errorOf(error.cause, name), cpuMs: this.cpuMs - before };
    }
  }

  [Symbol.dispose](): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }

  async #evaluate(code: string, filename: string): Promise<void> {
    // A reference, because the test's last value may be a stand-in, which cannot be copied.
    const work = this.#context.eval(code, { filename, promise: true, reference: true }).catch((error: unknown) => {
      if (this.#isolate.isDisposed) throw outOfMemory(this.#memoryMb);
      throw new TestError(error);
    });
    await Promise.race([work, this.#watchdog.ended]);
  }
}

/** The error that a test raised. */
class TestError extends Error {
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super("A test raised.");
    this.cause = cause;
  }
}
