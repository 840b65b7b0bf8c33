import type { EventEmitter } from "node:events";
import { LyceumError } from "../contract/errors/index.ts";
import { exitCodes } from "./exit-code.ts";

/** The signals that ask a command to end: Ctrl-C, `kill`, and a closed terminal. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Listens for Ctrl-C (SIGINT), SIGTERM and SIGHUP until it is disposed of. */
export interface Interruption extends Disposable {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** Stops listening: each signal then ends the process immediately. */
  letGo(): void;
  /** Starts listening again. */
  listen(): void;
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
  const letGo = (): void => {
    for (const signal of signals) host.off(signal, listener);
  };
  const listen = (): void => {
    letGo();
    for (const signal of signals) host.on(signal, listener);
  };
  listen();
  return {
    signal: controller.signal,
    letGo,
    listen,
    [Symbol.dispose]: letGo,
  };
}

/**
 * Ends this process like an unhandled Ctrl-C, which a shell reports as 130. `process.exit` could crash while a thread
 * runs the model, because the memory of its result would be partly destroyed.
 */
function endProcess(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  // Only the first process of a container survives its own signal.
  process.exit(exitCodes.interrupted);
}
