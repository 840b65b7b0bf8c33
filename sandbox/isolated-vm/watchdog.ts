import type { ExecuteStatus } from "../execution.ts";
import type { Limits } from "../limits.ts";

/** The reason why an execution ended early. */
export class Ended extends Error {
  readonly status: ExecuteStatus;
  readonly exitCode: number | null;

  constructor(status: ExecuteStatus, message: string, exitCode: number | null = null) {
    super(message);
    this.status = status;
    this.exitCode = exitCode;
  }
}

const intervalMs = 10;
/** Memory that a process may gain outside its isolates during a job: garbage, code, message buffers. */
const slackMb = 192;

/** Watches the limits of one job while its isolates run in other threads. */
export class Watchdog implements Disposable {
  /** Rejects with {@link Ended} when a limit is reached. */
  readonly ended: Promise<never>;
  /** The highest observed memory of the process, in bytes. */
  peakRss: number;
  readonly #reject: (reason: Ended) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #limits: Limits;
  readonly #runningMs: () => number;
  readonly #started = performance.now();
  readonly #cpuStart = process.cpuUsage();
  #caseStart = this.#cpuStart;

  /** `runningMs` returns how long the isolates of the case or job have run so far, in milliseconds. */
  constructor(limits: Limits, runningMs: () => number) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.ended = promise;
    this.#reject = reject;
    // Prevents an unhandled rejection if no one awaits the promise when it rejects.
    promise.catch(() => undefined);
    this.#limits = limits;
    this.#runningMs = runningMs;
    const before = process.memoryUsage.rss();
    this.peakRss = before;
    this.#timer = setInterval(() => this.#check(before), intervalMs);
  }

  end(reason: Ended): void {
    this.#reject(reason);
  }

  get wallMs(): number {
    return performance.now() - this.#started;
  }

  /** Processor time of the whole process since the job began. */
  get processMs(): number {
    return milliseconds(process.cpuUsage(this.#cpuStart));
  }

  /** Restarts the count of processor time. */
  startCase(): void {
    this.#caseStart = process.cpuUsage();
  }

  #check(rssBefore: number): void {
    const { cpuMs, wallMs, memoryMb } = this.#limits;
    const rss = process.memoryUsage.rss();
    this.peakRss = Math.max(this.peakRss, rss);
    // isolated-vm's processor time of an isolate includes the time that its thread waits for a processor. That of the
    // process includes other work. The code used at most the smaller of the two.
    const used = Math.min(this.#runningMs(), milliseconds(process.cpuUsage(this.#caseStart)));
    if (used > cpuMs) this.end(new Ended("timeout_cpu", `It used more than ${cpuMs} ms of processor time.`));
    if ((rss - rssBefore) / 2 ** 20 > memoryMb + slackMb) this.end(outOfMemory(memoryMb));
    if (this.wallMs > wallMs) this.end(new Ended("timeout_wall", `It took more than ${wallMs} ms.`));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** Creates the error of a reached memory limit. */
export function outOfMemory(memoryMb: number): Ended {
  return new Ended("memory", `It used more than ${memoryMb} MB of memory.`);
}

/** Creates the error of returned values that exceed a limit. */
export function valueTooLarge(): Ended {
  return new Ended("result_limit", "A value that it returned is too large or too deep.");
}
