import { equalRationals, type Rational } from "./rational.ts";
import { readNumbers } from "./read-number.ts";

/** An inequality between a variable and a number, with the variable on the left. */
export interface InequalityReading {
  readonly variable: string;
  readonly relation: Relation;
  readonly bound: Rational;
}

type Relation = "<" | "<=" | ">" | ">=";

const mirrored: Readonly<Record<Relation, Relation>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/**
 * Returns the last inequality, such as `x < 3` or `3 >= x`, in a normalized text. Returns undefined if there is none,
 * or if the last one is part of a chain (`2 < x < 5`) or joined to another by "or" or "and".
 */
export function readInequality(text: string): InequalityReading | undefined {
  const parts = uniformRelations(text).split(/(<=|>=|<|>)/);
  if (parts.length < 3) return undefined;
  const [middle, relation, right] = parts.slice(-3) as [string, Relation, string];
  if (parts.length > 3 && isJoint(middle)) return undefined;
  const left = middle.split(/[\n,;:]/).at(-1)!;
  const variable = /(?<![A-Za-z\\])(?<![\d)^_*/+-][ \t]*)([A-Za-z])\s*$/.exec(left)?.[1];
  if (variable !== undefined) {
    const bound = readNumbers(right)[0];
    if (bound === undefined || bound.operand || right.slice(0, bound.start).trim() !== "") return undefined;
    return { variable: variable.toLowerCase(), relation, bound: bound.value };
  }
  const mirroredVariable = /^\s*([A-Za-z])(?![A-Za-z^_]|\s*[-+*/×·])/.exec(right)?.[1];
  const bound = readNumbers(left).at(-1);
  if (mirroredVariable === undefined || bound === undefined || bound.operand) return undefined;
  if (left.slice(bound.end).trim() !== "") return undefined;
  return { variable: mirroredVariable.toLowerCase(), relation: mirrored[relation], bound: bound.value };
}

/** Returns true if both inequalities are equal. */
export function equalInequalities(a: InequalityReading, b: InequalityReading): boolean {
  return a.variable === b.variable && a.relation === b.relation && equalRationals(a.bound, b.bound);
}

function uniformRelations(text: string): string {
  return text
    .replace(/=>|⇒|→|\\(?:R|r|Longr|longr)ightarrow\b|\\implies\b/g, ";")
    .replace(/\\(?:leq?|leqslant)\b|≤|=</g, "<=")
    .replace(/\\(?:geq?|geqslant)\b|≥/g, ">=")
    .replace(/\\lt\b/g, "<")
    .replace(/\\gt\b/g, ">");
}

/**
 * Returns true if the text between two relations makes them one statement, false if they are two steps of a solution.
 */
function isJoint(middle: string): boolean {
  return /\b(?:or|and)\b/i.test(middle) || !/[\n,;:]|\.(?!\d)|[A-Za-z]{2,}/.test(middle);
}
