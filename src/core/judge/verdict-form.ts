import { invalidVerdictForm } from "./judge-errors.ts";

/**
 * The form of a verdict. `yes-no`: yes is 1, no is 0. `grade`: A is 1, B 0.75, C 0.5, D 0.25, F 0. Two numbers: the
 * verdict is a number from the lowest to the highest, and becomes a score from 0 to 1. A function reads the whole answer
 * of the judge, and returns undefined if it has no verdict.
 */
export type VerdictForm =
  | "yes-no"
  | "grade"
  | readonly [lowest: number, highest: number]
  | ((text: string) => number | undefined);

/** How the judge writes its verdict, and how its answer is read. */
export interface VerdictReader {
  /** What the prompt asks for. Undefined if the prompt's author asks for it. */
  readonly instruction: string | undefined;
  /** Returns the score in an answer. Undefined if there is none. */
  read(text: string): number | undefined;
}

const answers: ReadonlyMap<string, number> = new Map([
  ["yes", 1],
  ["no", 0],
]);
const grades: ReadonlyMap<string, number> = new Map([
  ["a", 1],
  ["b", 0.75],
  ["c", 0.5],
  ["d", 0.25],
  ["f", 0],
]);

/** Returns the reader of a form. Throws `config.invalid` for an unknown form or an empty range. */
export function verdictReader(form: VerdictForm): VerdictReader {
  if (typeof form === "function") return { instruction: undefined, read: form };
  if (form === "yes-no") return lastLine("yes or no", (word) => answers.get(word));
  if (form === "grade") return lastLine("one of the grades A, B, C, D, F", (word) => grades.get(word));
  const [lowest, highest] = Array.isArray(form) ? (form as readonly number[]) : [];
  if (!(Number.isFinite(lowest) && Number.isFinite(highest) && lowest! < highest!)) throw invalidVerdictForm(form);
  return lastLine(`a number from ${lowest} to ${highest}`, (word) => {
    const number = /^-?\d+(?:\.\d+)?$/.test(word) ? Number(word) : Number.NaN;
    return number >= lowest! && number <= highest! ? (number - lowest!) / (highest! - lowest!) : undefined;
  });
}

/**
 * Reads the verdict from the last line alone. A judge that reasons can repeat a verdict of the judged text, but not
 * there.
 */
function lastLine(words: string, scoreOf: (word: string) => number | undefined): VerdictReader {
  return {
    instruction: `Think in a few sentences. Then end with your verdict alone on the last line, in this form:\nVerdict: ${words}`,
    read: (text) => {
      const line = text.trim().split(/\r?\n/).at(-1)!.replace(/\*\*/g, "").trim();
      const word = /^verdict: ?(\S+?)\.?$/i.exec(line)?.[1];
      return word === undefined ? undefined : scoreOf(word.toLowerCase());
    },
  };
}
