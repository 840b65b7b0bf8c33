import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";

/** How much a program was changed. */
export interface ProgramChange {
  /** Tokens inserted, removed or replaced; an indentation is one token of its line. */
  readonly tokens: number;
  /** That, as a share of the longer program's tokens, from 0 to 1. */
  readonly share: number;
}

/** Comments and blank lines do not count. Undefined where one of the two cannot be read as Python. */
export function programChange(before: string, after: string): ProgramChange | undefined {
  const [from, to] = [tokensOf(before), tokensOf(after)];
  if (from === undefined || to === undefined) return undefined;
  const longer = Math.max(from.length, to.length, 1);
  // The distance to a text that is so much longer is about its length.
  const tokens = longer > 10 * from.length + 1_000 ? longer : editDistance(from, to);
  return { tokens, share: tokens / longer };
}

function tokensOf(program: string): readonly string[] | undefined {
  return readLogicalLines(program)?.flatMap(({ indent, tokens }) => [
    `indent ${indent}`,
    ...tokens.map(({ text }) => text),
  ]);
}

/** Insertions, removals and replacements from one list to another (Levenshtein). */
function editDistance(from: readonly string[], to: readonly string[]): number {
  let begin = 0;
  while (begin < from.length && begin < to.length && from[begin] === to[begin]) begin++;
  let [fromEnd, toEnd] = [from.length, to.length];
  while (fromEnd > begin && toEnd > begin && from[fromEnd - 1] === to[toEnd - 1]) {
    fromEnd--;
    toEnd--;
  }
  let row = Array.from({ length: toEnd - begin + 1 }, (_, i) => i);
  for (let i = begin; i < fromEnd; i++) {
    const next = [row[0]! + 1];
    for (let j = begin; j < toEnd; j++) {
      const place = j - begin;
      const replaced = row[place]! + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, row[place + 1]! + 1, next[place]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}

/**
 * The lines of a program, from 1, that another one does not have in their place: what a diff marks. Where lines were
 * removed, those on both sides of the gap.
 */
export function changedLines(program: string, other: string): readonly number[] {
  const [lines, others] = [program.trimEnd().split("\n"), other.trimEnd().split("\n")];
  const common = commonLengths(lines, others);
  const changed: number[] = [];
  let [i, j] = [0, 0];
  while (i < lines.length || j < others.length) {
    if (lines[i] === others[j]) {
      i++;
      j++;
      continue;
    }
    const begin = i;
    while ((i < lines.length || j < others.length) && lines[i] !== others[j]) {
      const skipsOther = i === lines.length || (j < others.length && common[i]![j + 1]! > common[i + 1]![j]!);
      if (skipsOther) j++;
      else changed.push(++i);
    }
    if (i === begin) changed.push(...[begin, begin + 1].filter((line) => line >= 1 && line <= lines.length));
  }
  return [...new Set(changed)];
}

/** How many lines the rest of one list from i and of another from j have in common, in order. */
function commonLengths(lines: readonly string[], others: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: lines.length + 1 }, () => new Array<number>(others.length + 1).fill(0));
  for (let i = lines.length - 1; i >= 0; i--) {
    for (let j = others.length - 1; j >= 0; j--) {
      table[i]![j] =
        lines[i] === others[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}
