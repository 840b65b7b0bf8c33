import { type AnswerStructure, answerStructure } from "./answer-structure.ts";
import { equalLeaves } from "./equal-leaves.ts";
import { equalRelations, type Relation, relationInterval } from "./equal-relations.ts";
import { normalLatex } from "./normal-latex.ts";

/** Whether two answers in LaTeX or plain notation say the same. Never throws; may take very long for hostile texts. */
export function compareAnswers(answer: string, gold: string): boolean {
  try {
    return equalStructures(answerStructure(normalLatex(answer)), answerStructure(normalLatex(gold)));
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
  // A set of one value is that value.
  if (answer.kind === "values" && answer.items.length === 1) return equalStructures(answer.items[0]!, gold);
  if (gold.kind === "values" && gold.items.length === 1) return equalStructures(answer, gold.items[0]!);
  return false;
}

/** What a relation says where the other side is no relation: `x = 3` says 3, `1 < x < 2` the interval `(1, 2)`. */
function relationValue(relation: Relation, other: AnswerStructure): AnswerStructure {
  const { operators, parts } = relation;
  if (other.kind === "sequence" || other.kind === "union") {
    const interval = relationInterval(relation);
    if (interval !== undefined) return answerStructure(interval);
  }
  const isNamed = /^(?:\\?[A-Za-z]+(?:_\{?\w+\}?)?|[A-Za-z]\s*\([A-Za-z]\)|\([A-Za-z](?:\s*,\s*[A-Za-z])+\))$/.test(
    parts[0]!,
  );
  if (operators.length === 1 && operators[0] === "=" && isNamed) {
    const value = answerStructure(parts[1]!);
    if (value.kind !== "relation") return value;
  }
  return { kind: "matrix", fence: "none", rows: [] };
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
