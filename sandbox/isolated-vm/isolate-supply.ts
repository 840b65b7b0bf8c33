import ivm from "isolated-vm";

/** An isolate of its own for one use, with a program in it that has not run yet. */
export interface SuppliedIsolate {
  readonly isolate: ivm.Isolate;
  readonly context: ivm.Context;
  /** The program: a function of `$0` and `$1`. */
  readonly program: ivm.Reference;
  /** Called where V8 gives up for want of memory; the process should end soon. */
  onCatastrophe: () => void;
}

/**
 * Supplies fresh isolates, each with the same program of ours in it: the body of a function of `$0` and `$1`, compiled
 * once. The process runs with V8's `--no-lazy`, so that what is kept of the compilation has all inner functions too. The
 * next isolate can be made while there is nothing else to do.
 */
export class IsolateSupply {
  readonly #code: string;
  readonly #cachedData: ivm.ExternalCopy<ArrayBuffer>;
  #next: { readonly memoryMb: number; readonly supplied: SuppliedIsolate } | undefined;
  /** The memory limit of the last one that was taken since `prepare`. */
  #taken: number | undefined;

  constructor(body: string) {
    this.#code = `(function ($0, $1) { ${body} })`;
    const isolate = new ivm.Isolate();
    const script = isolate.compileScriptSync(this.#code, { produceCachedData: true });
    // The types of isolated-vm leave it out.
    this.#cachedData = (script as ivm.Script & { cachedData: ivm.ExternalCopy<ArrayBuffer> }).cachedData;
    isolate.dispose();
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
      memoryLimit: Math.max(8, memoryMb),
      onCatastrophicError: () => supplied.onCatastrophe(),
    });
    const context = isolate.createContextSync();
    const script = isolate.compileScriptSync(this.#code, { cachedData: this.#cachedData });
    const program = script.runSync(context, { reference: true });
    const supplied: SuppliedIsolate = { isolate, context, program, onCatastrophe: () => undefined };
    return supplied;
  }
}
