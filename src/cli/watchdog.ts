import { Worker } from "node:worker_threads";
import { savedWork } from "../core/files/saved-work.ts";
import { runningCall } from "../core/rollout/running-call.ts";
import type { Interruption } from "./interrupt.ts";

/** How often the main thread shows that it goes on. */
const beatMs = 250;

/**
 * Starts a thread that notices when code of an environment keeps the main thread busy, so that neither signals nor
 * timers are heard. It warns, with file and line, and lets signals end the process at once. When the call's own limit
 * has passed, it says what is saved and kills the process: code that does not wait for anything cannot be stopped alone.
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
  // What the thread calls by the inspector.
  const key = Symbol.for("lyceum.watched");
  Object.defineProperty(globalThis, key, { value: watched, configurable: true });
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const worker = new Worker(new URL(`./watchdog-thread.${extension}`, import.meta.url), { workerData: beats.buffer });
  // Without the watchdog the command works as well.
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
