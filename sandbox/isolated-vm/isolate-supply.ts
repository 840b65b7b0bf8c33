import ivm from "isolated-vm";
import { programName } from "./guest/program.ts";

/** An isolate for one use. It contains a program that has not been called yet. */
export interface SuppliedIsolate {
  readonly isolate: ivm.Isolate;
  readonly context: ivm.Context;
  /** The program: a function. */
  readonly program: ivm.Reference;
  /** Called if V8 runs out of memory and gives up. The process should end soon. */
  onCatastrophe: () => void;
}

/**
 * Supplies fresh isolates from a snapshot that contains our program. The process runs with V8's `--no-lazy`, so
 * that all functions in the snapshot are compiled. The next isolate can be created while the process is otherwise
 * idle.
 */
export class IsolateSupply {
  readonly #snapshot: ivm.ExternalCopy<ArrayBuffer>;
  #next: { readonly memoryMb: number; readonly supplied: SuppliedIsolate } | undefined;
  /** The memory limit of the last isolate that was taken since `prepare`. */
  #taken: number | undefined;

  /** `script` stores the program in `globalThis[programName]`. */
  constructor(script: string) {
    this.#snapshot = ivm.Isolate.createSnapshot([{ code: script }]);
  }

  /** Returns an isolate with a memory limit. The caller disposes of it. */
  take(memoryMb: number): SuppliedIsolate {
    this.#taken = memoryMb;
    const next = this.#next;
    this.#next = undefined;
    if (next?.memoryMb === memoryMb) return next.supplied;
    next?.supplied.isolate.dispose();
    return this.#make(memoryMb);
  }

  /** Creates the next isolate ahead of time, with the limit of the last one that was taken, if any. */
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
