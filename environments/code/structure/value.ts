/** A variable, a function's result or another value, and where it flows. */
export class Value {
  /** Why it is not used if it flows nowhere, in words after "the result". */
  readonly unused: string | undefined;
  readonly into: Set<Value>;
  /** What it passes on as it is. Undefined stands for anything else. */
  readonly from: (Value | undefined)[] = [];
  /** The variables that a function sets, besides its result. */
  readonly beside = new Set<Value>();
  /** Visits the functions and classes of this name, which run only if code reads it. */
  readonly definitions: (() => void)[] = [];
  isRead = false;

  constructor(unused?: string, into: readonly Value[] = []) {
    [this.unused, this.into] = [unused, new Set(into)];
  }

  read(into: Value): void {
    this.into.add(into);
    this.isRead = true;
    for (const visit of this.definitions.splice(0)) visit();
  }

  /** Returns why it does not flow into `output`. Undefined if it does. */
  whyUnused(output: Value): string | undefined {
    const reached = new Set<Value>([this]);
    for (const value of reached) for (const next of value.into) reached.add(next);
    const [why = "stands alone"] = [...reached].flatMap(({ unused }) => unused ?? []);
    return reached.has(output) ? undefined : why;
  }

  /** True if it is a value of `known`, passed on, and no other value is set that is used. */
  passesOn(known: Map<Value, boolean>, output: Value): boolean {
    const found = known.get(this);
    if (found !== undefined) return found;
    known.set(this, false);
    const isPassed = (value: Value | undefined): boolean => value?.passesOn(known, output) === true;
    const isIdle = [...this.beside].every((value) => isPassed(value) || value.whyUnused(output) !== undefined);
    known.set(this, isIdle && this.from.length > 0 && this.from.every(isPassed));
    return known.get(this)!;
  }
}
