import { Worker } from "node:worker_threads";
import { savedWork } from "../core/files/saved-work.ts";
import { runningCall } from "../core/rollout/running-call.ts";
import type { Interruption } from "./interrupt.ts";

/** The interval at which the main thread shows that it runs, in milliseconds. */
const beatMs = 250;

/**
 * Starts a thread that detects when environment code blocks the main thread, so that signals and timers have no effect.
 * It prints a warning with file and line, and lets signals end the process immediately. After the call's own limit it
 * prints what is saved and kills the process, because blocking code cannot be stopped by itself.
 */
export function startWatchdog(interruption: Pick<Interruption, "letGo" | "listen">): Disposable {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let hasLetGo = false;
  const watched = {
    report: (): string => JSON.stringify({ running: runningCall(), saved: savedWork().join(" ") }),
    letGo: (): void => {
      hasLetGo = true;
      interruption.letGo();
    },
  };
  // The functions that the thread calls through the inspector.
  const key = Symbol.for("lyceum.watched");
  Object.defineProperty(globalThis, key, { value: watched, configurable: true });
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const worker = new Worker(new URL(`./watchdog-thread.${extension}`, import.meta.url), { workerData: beats.buffer });
  // The command also works without the watchdog.
  worker.on("error", () => {});
  worker.unref();
  const timer = setInterval(() => {
    Atomics.add(beats, 0, 1);
    if (hasLetGo) interruption.listen();
    hasLetGo = false;
  }, beatMs);
  timer.unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      Reflect.deleteProperty(globalThis, key);
      void worker.terminate();
    },
  };
}
