import type { EventEmitter } from "node:events";
import { LyceumError } from "../errors/index.ts";
import { exitCodes } from "./exit-code.ts";

/** Listens for Ctrl-C (SIGINT) and SIGTERM until disposed. */
export interface Interruption extends Disposable {
  /** Aborted by the first one. */
  readonly signal: AbortSignal;
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
  host.on("SIGINT", listener).on("SIGTERM", listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      host.off("SIGINT", listener).off("SIGTERM", listener);
    },
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
