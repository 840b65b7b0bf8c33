import type { EventEmitter } from "node:events";
import { LyceumError } from "../contract/errors/index.ts";
import { exitCodes } from "./exit-code.ts";

/** What asks a command to end: Ctrl-C, `kill`, and a terminal that is closed. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Listens for Ctrl-C (SIGINT), SIGTERM and SIGHUP until disposed. */
export interface Interruption extends Disposable {
  /** Aborted by the first one. */
  readonly signal: AbortSignal;
  /** Stops listening: each of them then ends the process at once. */
  letGo(): void;
  /** Listens again. */
  listen(): void;
}

/**
 * Turns the first Ctrl-C into an abort, so that the command can save and end by itself, and the second into the end of
 * the process at once.
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
 * Ends this process as an unheard Ctrl-C would, which a shell shows as 130. Leaving by `process.exit` while a thread
 * runs the model would come upon its result half torn down, and abort.
 */
function endProcess(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  // Only the first process of a container outlives its own signal.
  process.exit(exitCodes.interrupted);
}
