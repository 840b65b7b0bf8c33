/** Why a process was killed from outside. */
export type KillReason = "timeout_cpu" | "timeout_wall" | "aborted";

/** The process that a watch observes. */
export interface Watched {
  /** Processor time so far, in milliseconds. If it is undefined, wall time counts instead. */
  readonly cpuMs: number | undefined;
  kill(): Promise<void>;
}

/** Kills a process that exceeds its time and did not stop by itself. Dispose it when the job ends. */
export class CpuWatch implements Disposable {
  /** Why the process was killed. Undefined if it was not. */
  overrun: KillReason | undefined;
  readonly #process: Watched;
  readonly #cpuMs: number;
  readonly #signal: AbortSignal;
  readonly #wallEnd: number;
  #timer: NodeJS.Timeout | undefined;
  #cpuStart = 0;
  #start = 0;

  constructor(process: Watched, limits: { readonly cpuMs: number; readonly wallMs: number }, signal: AbortSignal) {
    this.#process = process;
    // The process stops itself at its limit if it can. This limit is for code that prevents that.
    this.#cpuMs = limits.cpuMs * 1.25 + 250;
    this.#wallEnd = performance.now() + limits.wallMs;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
    this.restart();
    if (signal.aborted) this.#onAbort();
  }

  /** Restarts the count of processor time. */
  restart(): void {
    this.#start = performance.now();
    this.#cpuStart = this.#process.cpuMs ?? Number.NaN;
    clearTimeout(this.#timer);
    this.#wait(this.#cpuMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => this.#end("aborted");

  #wait(ms: number): void {
    const left = Math.min(ms, this.#wallEnd - performance.now());
    this.#timer = setTimeout(() => this.#check(), Math.max(left, 10));
  }

  #check(): void {
    const now = performance.now();
    const cpu = this.#process.cpuMs;
    const used = cpu === undefined || Number.isNaN(this.#cpuStart) ? now - this.#start : cpu - this.#cpuStart;
    if (used >= this.#cpuMs) this.#end("timeout_cpu");
    else if (now >= this.#wallEnd) this.#end("timeout_wall");
    else this.#wait(this.#cpuMs - used);
  }

  #end(overrun: KillReason): void {
    this.overrun ??= overrun;
    clearTimeout(this.#timer);
    void this.#process.kill();
  }
}
