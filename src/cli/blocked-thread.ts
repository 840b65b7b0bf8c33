import { type Debugger, Session } from "node:inspector";
import { isUserCode, positionText, type SourcePosition, userPosition } from "../contract/errors/source-location.ts";
import type { RunningCall } from "../core/rollout/running-call.ts";

/** The code that keeps the main thread busy. */
export interface BlockedPosition {
  /** Its place in the user's code as `file:line:column`, if the user's code is on the stack. */
  readonly position: string;
  /** The call of an environment that it belongs to. Its limit is null if there is none. */
  readonly running: (Omit<RunningCall, "limitMs"> & { readonly limitMs: number | null }) | undefined;
  /** A description of what is saved if the process is killed now. */
  readonly saved: string;
}

/** The time within which the main thread must respond (native code does not), and the interval between attempts. */
const [answerMs, askMs] = [2_000, 100];

/**
 * The main thread while it runs code that does not end, as seen from another thread. The inspector interrupts the code,
 * reads its stack and lets it continue.
 */
export class BlockedThread {
  readonly #session = new Session();
  /** The script files by id, because stack frames contain only the ids. */
  readonly #files = new Map<string, string>();
  #onPaused: ((frames: readonly Debugger.CallFrame[]) => void) | undefined;

  constructor() {
    this.#session.connectToMainThread();
    this.#session.on("Debugger.scriptParsed", ({ params }) => void this.#files.set(params.scriptId, params.url));
    this.#session.on("Debugger.paused", ({ params }) => {
      if (this.#onPaused === undefined) this.#session.post("Debugger.resume");
      else this.#onPaused(params.callFrames);
    });
    this.#session.post("Debugger.enable");
  }

  /**
   * Returns where the main thread is. Returns undefined for native code, and for package code outside a call of an
   * environment.
   */
  async place(): Promise<BlockedPosition | undefined> {
    let place: BlockedPosition | undefined;
    await this.#paused(async (frames) => {
      const positions = frames.map(({ location: { scriptId, lineNumber, columnNumber = 0 } }): SourcePosition => {
        return { file: this.#files.get(scriptId) ?? "", line: lineNumber + 1, column: columnNumber + 1 };
      });
      const report = await this.#evaluate(frames, "report()");
      const { running, saved = "" } = JSON.parse(report || "{}") as Partial<Pick<BlockedPosition, "running" | "saved">>;
      const position = userPosition(positions);
      if (position === undefined || (running === undefined && !positions.some(isUserCode))) return;
      place = { position: positionText(position), running, saved };
    });
    return place;
  }

  /** Restores the default effect of signals, so that they end the process. */
  async letSignalsEndIt(): Promise<void> {
    await this.#paused(async (frames) => void (await this.#evaluate(frames, "letGo()")));
  }

  close(): void {
    this.#session.disconnect();
  }

  /** Interrupts the main thread and lets it continue after `use`. Cannot interrupt native code. */
  #paused(use: (frames: readonly Debugger.CallFrame[]) => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        clearInterval(asking);
        this.#onPaused = undefined;
        resolve();
      };
      const timer = setTimeout(done, answerMs);
      const resume = (): void => this.#session.post("Debugger.resume", done);
      this.#onPaused = (frames) => {
        clearInterval(asking);
        use(frames).then(resume, resume);
      };
      const ask = (): void => this.#session.post("Debugger.pause");
      // The inspector ignores a request that arrives while the thread continues after the previous one.
      const asking = setInterval(ask, askMs);
      ask();
    });
  }

  #evaluate(frames: readonly Debugger.CallFrame[], call: string): Promise<string> {
    const { callFrameId } = frames[0]!;
    const expression = `globalThis[Symbol.for("lyceum.watched")].${call}`;
    return new Promise((resolve) => {
      this.#session.post("Debugger.evaluateOnCallFrame", { callFrameId, expression }, (_, answer) =>
        resolve(typeof answer?.result?.value === "string" ? answer.result.value : ""),
      );
    });
  }
}
