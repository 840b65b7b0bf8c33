import type { Random } from "../../src/core/random/random.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";

/** Numbers, and a value that an expression of them has. The agent never sees the solution. */
export interface CountdownTask {
  readonly numbers: readonly number[];
  readonly target: number;
  readonly solution: string;
}

/** A part of a solution while it is put together. */
interface Part {
  readonly text: string;
  readonly value: number;
  /** How strongly its outermost operator binds: 0 for a sum, 1 for a product, 2 for a number. */
  readonly strength: 0 | 1 | 2;
}

/**
 * Creates a task from an expression of all its numbers. All values on the way are whole and positive. The target is none
 * of the numbers.
 */
export function countdownTask(
  random: Random,
  options: { readonly count: number; readonly maximum: number; readonly maximumTarget: number },
): CountdownTask {
  const { count, maximum, maximumTarget } = options;
  for (;;) {
    const numbers = Array.from({ length: count }, () => random.integer(1, maximum));
    let parts: readonly Part[] = numbers.map((value) => ({ text: String(value), value, strength: 2 }));
    while (parts.length > 1) {
      const [a, b, ...rest] = random.shuffle(parts) as [Part, Part, ...Part[]];
      parts = [...rest, random.pick(combinations(a, b))];
    }
    const { text, value } = parts[0]!;
    if (value <= maximumTarget && !numbers.includes(value)) return { numbers, target: value, solution: text };
  }
}

/** True if a task belongs to the split `test`. One task in five does. The order of its numbers does not matter. */
export function isHeldOut({ numbers, target }: CountdownTask): boolean {
  const key = { numbers: numbers.toSorted((a, b) => a - b), target };
  return Number.parseInt(contentHash(key).slice(0, 8), 16) % 5 === 0;
}

/** Returns the results of the four operators that are whole and positive. The larger part comes first. */
function combinations(one: Part, other: Part): Part[] {
  const [a, b] = one.value >= other.value ? [one, other] : [other, one];
  const joined = (operator: string, value: number, strength: 0 | 1): Part => ({
    // The right side of - and / binds more strongly than its operator, so that (8 - (3 - 1)) keeps its parentheses.
    text: `${bracketed(a, strength)} ${operator} ${bracketed(b, /[-/]/.test(operator) ? strength + 1 : strength)}`,
    value,
    strength,
  });
  return [
    joined("+", a.value + b.value, 0),
    joined("*", a.value * b.value, 1),
    ...(a.value > b.value ? [joined("-", a.value - b.value, 0)] : []),
    ...(a.value % b.value === 0 ? [joined("/", a.value / b.value, 1)] : []),
  ];
}

function bracketed({ text, strength }: Part, least: number): string {
  return strength < least ? `(${text})` : text;
}
