import type { EventEmitter } from "node:events";
import { LyceumError } from "../src/contract/errors/index.ts";
import { exitCodes } from "./exit-code.ts";
import { interruptSignals } from "./interrupt-signals.ts";

/** Listens for Ctrl-C (SIGINT), SIGTERM and SIGHUP until it is disposed of. */
export interface Interruption extends Disposable {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
}

/**
 * Converts the first Ctrl-C to an abort, so that the command can save its work and end. The second one ends the process
 * immediately.
 */
export function listenForInterrupt(host: EventEmitter = process, end: () => void = endProcess): Interruption {
  const controller = new AbortController();
  const listener = (): void => {
    if (controller.signal.aborted) end();
    controller.abort(new LyceumError({ code: "aborted", message: "Interrupted." }));
  };
  for (const signal of interruptSignals) host.on(signal, listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const signal of interruptSignals) host.off(signal, listener);
    },
  };
}

/**
 * Ends this process like an unhandled Ctrl-C, which a shell reports as 130. `process.exit` could crash while a thread
 * runs the model, because the memory of its result would be partly destroyed.
 */
export function endProcess(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  // Only the first process of a container survives its own signal.
  process.exit(exitCodes.interrupted);
}
