import { type Debugger, Session } from "node:inspector";
import { isUserCode, positionText, type SourcePosition, userPosition } from "../contract/errors/source-location.ts";
import type { RunningCall } from "../core/rollout/running-call.ts";

/** What keeps the main thread busy. */
export interface BlockedPlace {
  /** `file:line:column` in the user's code if it is on the stack. */
  readonly position: string;
  /** The call of an environment that it belongs to. Its limit is null if there is none. */
  readonly running: (Omit<RunningCall, "limitMs"> & { readonly limitMs: number | null }) | undefined;
  /** What is left of its work if the process is killed now. */
  readonly saved: string;
}

/** How long the main thread may take to answer (native code does not), and how often it is asked. */
const [answerMs, askMs] = [2_000, 100];

/**
 * The main thread, which runs code that does not end, seen from another thread: the inspector interrupts that code,
 * looks at its stack and lets it go on.
 */
export class BlockedThread {
  readonly #session = new Session();
  /** The files of scripts, by their ids: frames name the ids alone. */
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

  /** Where it is. Undefined for native code, and for code of packages that no call of an environment runs. */
  async place(): Promise<BlockedPlace | undefined> {
    let place: BlockedPlace | undefined;
    await this.#paused(async (frames) => {
      const positions = frames.map(({ location: { scriptId, lineNumber, columnNumber = 0 } }): SourcePosition => {
        return { file: this.#files.get(scriptId) ?? "", line: lineNumber + 1, column: columnNumber + 1 };
      });
      const report = await this.#evaluate(frames, "report()");
      const { running, saved = "" } = JSON.parse(report || "{}") as Partial<Pick<BlockedPlace, "running" | "saved">>;
      const position = userPosition(positions);
      if (position === undefined || (running === undefined && !positions.some(isUserCode))) return;
      place = { position: positionText(position), running, saved };
    });
    return place;
  }

  /** Gives signals the effect that they have in a process which does not listen for them. */
  async letSignalsEndIt(): Promise<void> {
    await this.#paused(async (frames) => void (await this.#evaluate(frames, "letGo()")));
  }

  close(): void {
    this.#session.disconnect();
  }

  /** Interrupts the main thread and lets it go on after `use`. Native code is not interrupted. */
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
      // A request that comes while it goes on after the last one is passed over.
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
