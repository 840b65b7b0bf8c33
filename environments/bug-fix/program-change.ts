import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";

/** The size of a change of a program. */
export interface ProgramChange {
  /** The number of tokens inserted, removed or replaced. An indentation is one token of its line. */
  readonly tokens: number;
  /** `tokens` as a share of the longer program's tokens, from 0 to 1. */
  readonly share: number;
}

/**
 * Measures the change between two programs. Ignores comments and blank lines. Returns undefined if a program is not
 * readable Python.
 */
export function programChange(before: string, after: string): ProgramChange | undefined {
  const [from, to] = [tokensOf(before), tokensOf(after)];
  if (from === undefined || to === undefined) return undefined;
  const longer = Math.max(from.length, to.length, 1);
  // For a much longer text, the distance is close to its length.
  const tokens = longer > 10 * from.length + 1_000 ? longer : editDistance(from, to);
  return { tokens, share: tokens / longer };
}

function tokensOf(program: string): readonly string[] | undefined {
  return readLogicalLines(program)?.flatMap(({ indent, tokens }) => [
    `indent ${indent}`,
    ...tokens.map(({ text }) => text),
  ]);
}

/** Returns the number of insertions, removals and replacements between two lists (Levenshtein). */
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
 * Returns the changed lines of a program, from 1, as a diff marks them. For removed lines, returns the lines on both
 * sides of the gap.
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

/** Returns a table of the lengths of the longest common subsequences of the lists from i and from j on. */
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
