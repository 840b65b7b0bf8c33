import type { AnswerStructure } from "./answer-structure.ts";
import { proportion } from "./equal-expressions.ts";
import { equalLeaves } from "./equal-leaves.ts";

/** An equation, an inequality, or a chain of inequalities. */
export type Relation = Extract<AnswerStructure, { readonly kind: "relation" }>;

const mirrored: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };
const mirror = (operator: string): string => mirrored[operator] ?? operator;
/** True if a part is a variable: `x`, `x_1`, `\\theta`. */
export const isName = (part: string): boolean => /^\\?[A-Za-z]+(?:_\{?\w+\}?)?$/.test(part);

/**
 * True if two relations are equivalent: with the same sides, reversed, or as multiples of each other (`y = 2x + 1` and
 * `2x - y + 1 = 0`). A relation that is solved for a variable equals only a relation that is solved for it too.
 */
export function equalRelations(answer: Relation, gold: Relation): boolean {
  const turned: Relation = {
    kind: "relation",
    operators: answer.operators.map(mirror).reverse(),
    parts: answer.parts.toReversed(),
  };
  if (sameSides(answer, gold) || sameSides(turned, gold)) return true;
  if (answer.parts.length !== 2 || gold.parts.length !== 2) return false;
  const isSolved = gold.parts.some((part, i) => isName(part) && !/[A-Za-z]/.test(gold.parts[1 - i]!));
  if (isSolved) return false;
  const [operator, wanted] = [answer.operators[0]!, gold.operators[0]!];
  const ratio = proportion(difference(answer), difference(gold));
  if (ratio === 0) return false;
  return (ratio > 0 ? operator : mirror(operator)) === wanted;
}

function sameSides(answer: Relation, gold: Relation): boolean {
  return (
    answer.parts.length === gold.parts.length &&
    answer.operators.every((operator, i) => operator === gold.operators[i]) &&
    answer.parts.every((part, i) => equalLeaves(part, gold.parts[i]!))
  );
}

function difference({ parts }: Relation): readonly [string, string] {
  return [parts[0]!, parts[1]!];
}

/** Returns the interval of `x < 3` or `1 < x <= 2`. Undefined for other relations. */
export function relationInterval({ operators, parts }: Relation): string | undefined {
  const variable = parts.findIndex(isName);
  if (variable === -1 || operators.some((operator) => mirrored[operator] === undefined)) return undefined;
  if (parts.length === 2) {
    const operator = variable === 0 ? operators[0]! : mirror(operators[0]!);
    const bound = parts[1 - variable]!;
    if (operator.startsWith("<")) return `(-\\infty,${bound}${operator === "<" ? ")" : "]"}`;
    return `${operator === ">" ? "(" : "["}${bound},\\infty)`;
  }
  if (parts.length !== 3 || variable !== 1) return undefined;
  const [first, second] = operators as [string, string];
  if (first[0] !== second[0]) return undefined;
  const bounds = [
    { bound: parts[0]!, open: first.length === 1 },
    { bound: parts[2]!, open: second.length === 1 },
  ];
  const [low, high] = (first.startsWith("<") ? bounds : bounds.reverse()) as [
    (typeof bounds)[number],
    (typeof bounds)[number],
  ];
  return `${low.open ? "(" : "["}${low.bound},${high.bound}${high.open ? ")" : "]"}`;
}
