import { type AnswerStructure, answerStructure } from "./answer-structure.ts";
import { withoutChoice } from "./choice.ts";
import { equalExpressions } from "./equal-expressions.ts";
import { equalLeaves } from "./equal-leaves.ts";
import { equalRelations, isName, type Relation, relationInterval } from "./equal-relations.ts";
import { normalLatex } from "./normal-latex.ts";

/** Whether two answers in LaTeX or plain notation say the same. Never throws; may take very long for hostile texts. */
export function compareAnswers(answer: string, gold: string): boolean {
  try {
    const [given, wanted] = withoutChoice(normalLatex(answer), normalLatex(gold));
    return equalStructures(answerStructure(given), answerStructure(wanted));
  } catch {
    // The engine cannot work with one of them (an overflow of the stack, a number beyond all bounds).
    return false;
  }
}

function equalStructures(answer: AnswerStructure, gold: AnswerStructure): boolean {
  if (answer.kind === "relation" && gold.kind === "relation") return equalRelations(answer, gold);
  if (answer.kind === "relation") return equalStructures(relationValue(answer, gold), gold);
  if (gold.kind === "relation") return equalStructures(answer, relationValue(gold, answer));
  if (answer.kind === "expression" && gold.kind === "expression") return equalLeaves(answer.latex, gold.latex);
  if (answer.kind === "matrix" && gold.kind === "matrix") {
    if (answer.fence !== gold.fence) return false;
    return inOrder(answer.rows, gold.rows, (a, b) => inOrder(a, b, equalStructures));
  }
  if (answer.kind === "sequence" && gold.kind === "sequence") {
    return answer.brackets === gold.brackets && inOrder(answer.items, gold.items, equalStructures);
  }
  if (answer.kind === "union" && gold.kind === "union") return inAnyOrder(answer.items, gold.items);
  if (answer.kind === "values" && gold.kind === "values") return inAnyOrder(answer.items, gold.items);
  if (answer.kind === "values" && gold.kind === "sequence") {
    const tuple = namedTuple(answer.items);
    return tuple !== undefined && equalStructures(tuple, gold);
  }
  // A set of one value is that value.
  if (answer.kind === "values" && answer.items.length === 1) return equalStructures(answer.items[0]!, gold);
  if (gold.kind === "values" && gold.items.length === 1) return equalStructures(answer, gold.items[0]!);
  return false;
}

/** What stands for a value on the left of an equals sign: `x`, `x_1`, `f(3)`, `|AB|`, `\\angle ABC`, `(x, y)`, a word. */
const name = String.raw`(?:\\?[A-Za-z]+(?:_\{?\w+\}?)?'?|\\text\s*\{[^{}]*\})`;
const named = new RegExp(
  String.raw`^(?:${name}(?:\s*\([\w\s,.+-]*\))?|\|\s*${name}\s*\||\\(?:angle|overline|vec)\s*\{?\s*${name}\s*\}?|\(${name}(?:\s*,\s*${name})+\))$`,
);
const saysNothing: AnswerStructure = { kind: "matrix", fence: "none", rows: [] };

/**
 * What a relation says where the other side is no relation: `x = 3` says 3, `1 < x < 2` the interval `(1, 2)`, and
 * `6 / 2 = 3`, which holds, 3.
 */
function relationValue(relation: Relation, other: AnswerStructure): AnswerStructure {
  const { operators, parts } = relation;
  if (other.kind === "sequence" || other.kind === "union") {
    const interval = relationInterval(relation);
    if (interval !== undefined) return answerStructure(interval);
  }
  if (operators.some((operator) => operator !== "=")) return saysNothing;
  const value = parts.at(-1)!;
  const holds = parts.slice(0, -1).every((step) => named.test(step) || equalExpressions(step, value));
  return holds ? answerStructure(value) : saysNothing;
}

/** The tuple `(3, 4)` that `x = 3, y = 4` says: each value once, by the order of its name. */
function namedTuple(items: readonly AnswerStructure[]): AnswerStructure | undefined {
  const pairs: { readonly letter: string; readonly value: string }[] = [];
  for (const item of items) {
    if (item.kind !== "relation" || item.parts.length !== 2 || item.operators[0] !== "=") return undefined;
    const [letter, value] = item.parts as [string, string];
    if (!isName(letter) || pairs.some((pair) => pair.letter === letter)) return undefined;
    pairs.push({ letter, value });
  }
  pairs.sort((a, b) => (a.letter < b.letter ? -1 : 1));
  return { kind: "sequence", brackets: "()", items: pairs.map(({ value }) => answerStructure(value)) };
}

function inOrder<Item>(a: readonly Item[], b: readonly Item[], equal: (a: Item, b: Item) => boolean): boolean {
  return a.length === b.length && a.every((item, i) => equal(item, b[i]!));
}

function inAnyOrder(answer: readonly AnswerStructure[], gold: readonly AnswerStructure[]): boolean {
  return (
    answer.every((item) => gold.some((wanted) => equalStructures(item, wanted))) &&
    gold.every((wanted) => answer.some((item) => equalStructures(item, wanted)))
  );
}
