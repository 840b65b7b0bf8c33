import type { EventEmitter } from "node:events";
import { LyceumError } from "../errors/index.ts";
import { exitCodes } from "./exit-code.ts";

/** Listens for Ctrl-C (SIGINT) and SIGTERM until disposed. */
export interface Interruption extends Disposable {
  /** Aborted by the first one. */
  readonly signal: AbortSignal;
}

/**
 * Turns the first Ctrl-C into an abort, so that the command can save and end by itself, and the second into an exit
 * at once.
 */
export function listenForInterrupt(
  host: EventEmitter & { readonly exit: (code: number) => unknown } = process,
): Interruption {
  const controller = new AbortController();
  const listener = (): void => {
    if (controller.signal.aborted) host.exit(exitCodes.interrupted);
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
