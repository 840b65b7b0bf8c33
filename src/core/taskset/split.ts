import { LyceumError } from "../../contract/errors/index.ts";

/** One bound of a slice: a number of tasks or a percentage. A negative bound counts from the end. */
export interface SplitBound {
  readonly value: number;
  readonly unit: "tasks" | "percent";
}

/** A half-open range of a split, like a slice in Python. A missing bound is open. */
export interface SplitSlice {
  readonly from?: SplitBound;
  readonly to?: SplitBound;
}

/** The name of a split, and an optional slice. */
export interface Split {
  readonly name: string;
  readonly slice?: SplitSlice;
}

/**
 * Parses a split in the notation of Hugging Face datasets: `train`, `train[:200]`, `train[100:200]`, `train[-50:]`,
 * `train[:10%]`. Throws `config.invalid` with the position (from 0) of a syntax error.
 */
export function parseSplit(text: string): Split {
  const name = /^\w[\w.-]*/.exec(text)?.[0] ?? "";
  if (name === "") throw splitError(text, 0, "a split must begin with a name");
  if (name.length === text.length) return { name };
  if (text[name.length] !== "[") throw splitError(text, name.length, 'only "[" may follow the name');
  const from = parseBound(text, name.length + 1);
  if (text[from.end] !== ":") throw splitError(text, from.end, 'a slice needs a ":" between its bounds');
  const to = parseBound(text, from.end + 1);
  if (text[to.end] !== "]") throw splitError(text, to.end, 'a slice ends with "]"');
  if (to.end + 1 !== text.length) throw splitError(text, to.end + 1, "nothing may follow the slice");
  return {
    name,
    slice: { from: from.bound, to: to.bound },
  };
}

/** Formats a split in the notation of {@link parseSplit}. */
export function formatSplit(split: Split): string {
  if (split.slice === undefined) return split.name;
  const [from, to] = [split.slice.from, split.slice.to].map((bound) =>
    bound === undefined ? "" : `${bound.value}${bound.unit === "percent" ? "%" : ""}`,
  );
  return `${split.name}[${from}:${to}]`;
}

function parseBound(text: string, start: number): { readonly bound?: SplitBound; readonly end: number } {
  const match = /^(-?)(\d+)(%?)/.exec(text.slice(start));
  if (match === null) return { end: start };
  const value = Number(match[2]) * (match[1] === "-" ? -1 : 1) + 0;
  if (!Number.isSafeInteger(value)) throw splitError(text, start, "the number is too large");
  const unit = match[3] === "%" ? "percent" : "tasks";
  if (unit === "percent" && Math.abs(value) > 100) throw splitError(text, start, "a percentage is at most 100");
  return { bound: { value, unit }, end: start + match[0].length };
}

function splitError(text: string, position: number, rule: string): LyceumError {
  const found = position < text.length ? `"${text[position]}"` : "the end";
  return new LyceumError({
    code: "config.invalid",
    message: `Cannot read the split "${text}": ${rule}, found ${found} at position ${position}.`,
    hint: "Write a name, or a name and a slice: train, train[:200], train[100:200], train[-50:], train[:10%].",
    data: { split: text, position },
  });
}
