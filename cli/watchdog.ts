import { Worker } from "node:worker_threads";
import { savedWork } from "../src/core/files/saved-work.ts";
import { observeCalls, type RunningCall } from "../src/core/rollout/running-call.ts";
import { boardMemory, CallReader, CallRecorder } from "./call-board.ts";
import { signalExecArgv } from "./thread-signals.ts";

/** The interval at which the main thread shows that its event loop turns, in milliseconds. */
const beatMs = 250;

/** The thread that watches the main thread. */
export interface Watchdog {
  /** Returns the calls of the user's code that have not settled. */
  openCalls(): readonly RunningCall[];
  /** Ends the thread. Signals then have their effect on the main thread only. */
  stop(): Promise<void>;
}

/**
 * Detects when the user's code blocks the main thread, so that signals and timers have no effect there. From the first
 * call of the user's code on, a thread samples the main thread without interrupting it. It prints a warning that names
 * the call, kills the process if it is asked to end meanwhile, and kills it after the call's own limit, because blocking
 * code cannot be stopped by itself.
 */
export function startWatchdog(): Watchdog {
  const memory = boardMemory();
  const recorder = new CallRecorder(memory);
  let worker: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastSaved = "";
  const beat = (): void => {
    recorder.beat();
    const saved = savedWork().join(" ");
    if (saved !== lastSaved) worker?.postMessage(saved);
    lastSaved = saved;
  };
  const observed = observeCalls((call) => {
    if (worker === undefined) {
      const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
      const file = new URL(`./watchdog-thread.${extension}`, import.meta.url);
      worker = new Worker(file, { workerData: memory, execArgv: [...signalExecArgv] });
      // The command also works without the watchdog.
      worker.on("error", () => {});
      worker.unref();
      timer = setInterval(beat, beatMs);
      timer.unref();
    }
    return recorder.observe(call);
  });
  return {
    openCalls: () => new CallReader(memory).calls().open,
    stop: async () => {
      observed[Symbol.dispose]();
      clearInterval(timer);
      await worker?.terminate();
    },
  };
}
