import ivm from "isolated-vm";
import { programName } from "./guest/program.ts";

/** An isolate of its own for one use, with a program in it that has not been called yet. */
export interface SuppliedIsolate {
  readonly isolate: ivm.Isolate;
  readonly context: ivm.Context;
  /** The program: a function. */
  readonly program: ivm.Reference;
  /** Called where V8 gives up for want of memory; the process should end soon. */
  onCatastrophe: () => void;
}

/**
 * Supplies fresh isolates from a snapshot in which a program of ours has been made. The process runs with V8's
 * `--no-lazy`, so that the snapshot has all its functions compiled. The next isolate can be made while there is nothing
 * else to do.
 */
export class IsolateSupply {
  readonly #snapshot: ivm.ExternalCopy<ArrayBuffer>;
  #next: { readonly memoryMb: number; readonly supplied: SuppliedIsolate } | undefined;
  /** The memory limit of the last one that was taken since `prepare`. */
  #taken: number | undefined;

  /** `script` leaves the program in `globalThis[programName]`. */
  constructor(script: string) {
    this.#snapshot = ivm.Isolate.createSnapshot([{ code: script }]);
  }

  /** An isolate with at most so much memory. Whoever takes it disposes of it. */
  take(memoryMb: number): SuppliedIsolate {
    this.#taken = memoryMb;
    const next = this.#next;
    this.#next = undefined;
    if (next?.memoryMb === memoryMb) return next.supplied;
    next?.supplied.isolate.dispose();
    return this.#make(memoryMb);
  }

  /** Makes the next isolate ahead of time, like the last one that was taken, if one was. */
  prepare(memoryMb: number | undefined = this.#taken): void {
    this.#taken = undefined;
    if (memoryMb !== undefined) this.#next ??= { memoryMb, supplied: this.#make(memoryMb) };
  }

  #make(memoryMb: number): SuppliedIsolate {
    const isolate = new ivm.Isolate({
      snapshot: this.#snapshot,
      memoryLimit: Math.max(8, memoryMb),
      onCatastrophicError: () => supplied.onCatastrophe(),
    });
    const context = isolate.createContextSync();
    const program = context.global.getSync(programName, { reference: true });
    const supplied: SuppliedIsolate = { isolate, context, program, onCatastrophe: () => undefined };
    return supplied;
  }
}
