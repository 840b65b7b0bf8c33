import { type AnswerStructure, answerStructure } from "./answer-structure.ts";
import { askedOrder, isAskedFormula } from "./asked-names.ts";
import { withoutChoice } from "./choice.ts";
import { equalExpressions, isRoundedTo } from "./equal-expressions.ts";
import { equalLeaves } from "./equal-leaves.ts";
import { equalRelations, isName, type Relation } from "./equal-relations.ts";
import { inequalitySet, type Joint, jointOf } from "./inequality-set.ts";
import { equalMatrixSums, matrixSum } from "./matrix-value.ts";
import { normalLatex } from "./normal-latex.ts";
import { isRoundedExpression } from "./rounded-expression.ts";

/** What the comparison knows beside the two answers. */
interface Context {
  /** What was asked; empty where it is not known. */
  readonly question: string;
  readonly joints: { readonly answer: Joint; readonly gold: Joint };
}

/** What stands between two forms of one answer: `x < 3, i.e. (-\infty, 3)`. */
const restatement =
  /[,;]?\s*(?:\\(?:Rightarrow|Longrightarrow|implies|iff|Leftrightarrow|Longleftrightarrow)(?![A-Za-z])|\\text\s*\{[\s,;(]*(?:i\.e\.|that is|or equivalently|equivalently|in interval notation)[\s,:]*\}|(?:i\.e\.|\bthat is|\bor equivalently|\bequivalently|\bin interval notation)[,:]?)\s*/g;

/**
 * Whether two answers in LaTeX or plain notation say the same, to a `question` if it is known. Never throws; may take
 * very long for hostile texts.
 */
export function compareAnswers(answer: string, gold: string, question = ""): boolean {
  try {
    const [given, wanted] = withoutChoice(normalLatex(answer.replace(restatement, ", ")), normalLatex(gold));
    const context = { question, joints: { answer: jointOf(answer), gold: jointOf(gold) } };
    return equalAnswers(answerStructure(given), answerStructure(wanted), context);
  } catch {
    // The engine cannot work with one of them (an overflow of the stack, a number beyond all bounds).
    return false;
  }
}

function equalAnswers(answer: AnswerStructure, gold: AnswerStructure, context: Context): boolean {
  if (equalStructures(answer, gold, context)) return true;
  // An interval beside the inequality that says it.
  if (answer.kind !== "values" || (gold.kind !== "sequence" && gold.kind !== "union" && gold.kind !== "relation"))
    return false;
  const kinds = new Set(answer.items.map(({ kind }) => kind));
  return kinds.size > 1 && kinds.has("relation") && answer.items.every((item) => equalStructures(item, gold, context));
}

function equalStructures(answer: AnswerStructure, gold: AnswerStructure, context: Context): boolean {
  if (answer.kind === "relation" && gold.kind === "relation") {
    if (equalRelations(answer, gold)) return true;
    const isApproximate = answer.operators.includes("≈") && isName(gold.parts[0]!) && answer.parts[0] === gold.parts[0];
    return isApproximate && equalStructures(answer, relationValue(gold, answer, context), context);
  }
  if (answer.kind === "relation") {
    const ordered = inAskedOrder(answer, gold, context);
    if (ordered !== undefined) return equalStructures(ordered, gold, context);
    return valuesOf(answer, gold, context).some((value) => equalStructures(value, gold, context));
  }
  if (gold.kind === "relation") return equalStructures(answer, relationValue(gold, answer, context), context);
  if (isMatrixSum(answer) || isMatrixSum(gold)) return equalMatrices(answer, gold);
  if (answer.kind === "expression" && gold.kind === "expression") {
    return equalLeaves(answer.latex, gold.latex) || isRoundedExpression(answer.latex, gold.latex, context.question);
  }
  const same = (a: AnswerStructure, b: AnswerStructure): boolean => equalStructures(a, b, context);
  if (answer.kind === "matrix" && gold.kind === "matrix") {
    if (answer.fence !== gold.fence) return false;
    return inOrder(answer.rows, gold.rows, (a, b) => inOrder(a, b, same));
  }
  if (answer.kind === "sequence" && gold.kind === "sequence") {
    return answer.brackets === gold.brackets && inOrder(answer.items, gold.items, same);
  }
  if (answer.kind === "ratio" || gold.kind === "ratio") return equalRatios(answer, gold, context);
  if (answer.kind === "union" && gold.kind === "union") return inAnyOrder(answer.items, gold.items, same);
  if (answer.kind === "values" && gold.kind === "values") return inAnyOrder(answer.items, gold.items, same);
  if (answer.kind === "values") {
    const said = saidBy(answer.items, gold, { question: context.question, joint: context.joints.answer });
    if (said !== undefined) return same(said, gold);
  }
  if (gold.kind === "values") {
    const said = saidBy(gold.items, answer, { question: context.question, joint: context.joints.gold });
    if (said !== undefined) return same(answer, said);
  }
  return false;
}

/** What several statements say together where the other side is one structure. */
function saidBy(
  items: readonly AnswerStructure[],
  other: AnswerStructure,
  { question, joint }: { readonly question: string; readonly joint: Joint },
): AnswerStructure | undefined {
  // A set of one value is that value.
  if (items.length === 1) return items[0];
  if (other.kind === "sequence") {
    const tuple = namedTuple(items, question);
    if (tuple !== undefined) return tuple;
  }
  if (other.kind !== "sequence" && other.kind !== "union") return undefined;
  const set = inequalitySet(items, joint);
  return set === undefined ? undefined : answerStructure(set);
}

/** What stands for a value on the left of an equals sign: `x`, `x_1`, `f(3)`, `|AB|`, `\angle ABC`, `(x, y)`, a word. */
const name = String.raw`(?:\\?[A-Za-z]+(?:_\{?\w+\}?)?'?|\\text\s*\{[^{}]*\})`;
const named = new RegExp(
  String.raw`^(?:${name}(?:\s*\([\w\s,.+-]*\))?|P\s*\([^()=]*\)|${name}(?:\s*:\s*${name})+|\|\s*${name}\s*\||\\(?:angle|overline|vec)\s*\{?\s*${name}\s*\}?|\(${name}(?:\s*,\s*${name})+\))$`,
);
const saysNothing: AnswerStructure = { kind: "matrix", fence: "none", rows: [] };

/**
 * What a relation says where the other side is no relation: `x = 3` says 3, `1 < x < 2` the interval `(1, 2)`, and
 * `6 / 2 = 3`, which holds, 3.
 */
function relationValue(relation: Relation, other: AnswerStructure, context: Context): AnswerStructure {
  return valuesOf(relation, other, context)[0] ?? saysNothing;
}

/** The value that a relation says; both the exact one and its decimal of `22/7 ≈ 3.14`. */
function valuesOf(relation: Relation, other: AnswerStructure, { question }: Context): readonly AnswerStructure[] {
  const { operators, parts } = relation;
  if (other.kind === "sequence" || other.kind === "union") {
    const interval = inequalitySet([relation], "comma");
    if (interval !== undefined) return [answerStructure(interval)];
  }
  if (operators.join() === "≈" && isName(parts[1]!) && !isName(parts[0]!)) return [answerStructure(parts[0]!)];
  const approximation = operators.indexOf("≈");
  if (approximation !== -1) {
    const [before, decimal, ...more] = [
      parts.slice(0, approximation + 1),
      parts[approximation + 1]!,
      ...parts.slice(approximation + 2),
    ];
    if (more.length > 0 || operators.some((operator) => operator !== "=" && operator !== "≈")) return [];
    const exact = before.at(-1)!;
    if (before.length === 1 && (exact === "" || named.test(exact))) return [answerStructure(decimal)];
    if (!isRoundedTo(exact, decimal) || !isChain(before, question)) return [];
    return [answerStructure(decimal), answerStructure(exact)];
  }
  if (operators.some((operator) => operator !== "=")) return [];
  return isChain(parts, question) ? [answerStructure(parts.at(-1)!)] : [];
}

/** Whether a chain of equations says its last side: it holds, or its first side is what the last is the value of. */
function isChain(parts: readonly string[], question: string): boolean {
  const value = parts.at(-1)!;
  const [first, ...steps] = parts.slice(0, -1);
  if (first === undefined) return true;
  const isName = named.test(first) || isAskedFormula(first, question);
  const isQuantity = isName || (steps.length > 0 && lettersOf(first).size > 1) || isSumOfNamed(first, value);
  const holds = (step: string): boolean => equalExpressions(step, value) || equalMatrixSums(step, value);
  // A step in letters, as in `A = \pi r^2 = 9\pi`, is true of what the letters stand for.
  const isStep = (step: string): boolean => named.test(step) || (isName && lettersOf(step).size > 0) || holds(step);
  return (isQuantity || holds(first)) && steps.every(isStep);
}

/** The letters of an expression that stand for numbers. */
function lettersOf(latex: string): ReadonlySet<string> {
  const bare = latex.replace(/\\text\s*\{[^{}]*\}|\\(?:begin|end)\{[a-z]*\}|\\[A-Za-z]+/g, " ");
  return new Set(bare.match(/[A-Za-df-hj-z]/g) ?? []);
}

/** `A + B` or `2A - B` before a matrix, also of vectors in bold. */
function isSumOfNamed(latex: string, value: string): boolean {
  const letters = latex.replace(/\\text\s*\{\s*([A-Za-z])\s*\}/g, (_all, letter: string) => letter.toUpperCase());
  return matrixSum(value) !== undefined && /^[\dA-HJ-Z\s+-]+$/.test(letters) && lettersOf(letters).size > 1;
}

const isMatrixSum = (structure: AnswerStructure): boolean =>
  structure.kind === "expression" && structure.latex.includes("matrix}") && matrixSum(structure.latex) !== undefined;

/** A sum of matrices is no answer where the right one is worked out, unless there are unknowns in it. */
function equalMatrices(answer: AnswerStructure, gold: AnswerStructure): boolean {
  const [given, wanted] = [latexOf(answer), latexOf(gold)];
  if (given === undefined || wanted === undefined) return false;
  const isWorkedOut = matrixSum(wanted)?.terms === 1 && lettersOf(wanted).size === 0;
  const isSimple = matrixSum(given)?.terms === 1 && /^\s*-?\s*(?:\\begin|\\frac|\d+\s*\/)/.test(given);
  return (!isWorkedOut || isSimple) && equalMatrixSums(given, wanted);
}

function latexOf(structure: AnswerStructure): string | undefined {
  if (structure.kind === "expression") return structure.latex;
  if (structure.kind !== "matrix" || structure.fence !== "p") return undefined;
  const entries = structure.rows.map((row) => row.map(latexOf));
  if (entries.flat().includes(undefined)) return undefined;
  return `\\begin{pmatrix}${entries.map((row) => row.join("&")).join("\\\\")}\\end{pmatrix}`;
}

/** Ratios term by term; a fraction is one where the right answer is one, or the question asks for one. */
function equalRatios(answer: AnswerStructure, gold: AnswerStructure, context: Context): boolean {
  const [given, wanted] = [ratioItems(answer), ratioItems(gold)];
  if (given === undefined || wanted === undefined) return false;
  const areBoth = answer.kind === "ratio" && gold.kind === "ratio";
  if (!areBoth && /\bodds\b/i.test(context.question)) return false;
  if (gold.kind !== "ratio" && !/\bratio\b/i.test(context.question)) return false;
  return inOrder(given, wanted, (a, b) => equalStructures(a, b, context));
}

/** The terms of a ratio, or of a fraction of numbers. */
function ratioItems(structure: AnswerStructure): readonly AnswerStructure[] | undefined {
  if (structure.kind === "ratio") return structure.items;
  if (structure.kind !== "expression") return undefined;
  const match = /^\\frac\s*\{(\d+)\}\s*\{(\d+)\}$|^(\d+)\s*\/\s*(\d+)$/.exec(structure.latex);
  return match
    ?.slice(1)
    .filter((part) => part !== undefined)
    .map((part) => answerStructure(part));
}

/** `(k, n) = (45, 2)` in the order that the question states, if it states one. */
function inAskedOrder(relation: Relation, gold: AnswerStructure, context: Context): AnswerStructure | undefined {
  if (gold.kind !== "sequence" || relation.parts.length !== 2 || relation.operators[0] !== "=") return undefined;
  const [names, values] = relation.parts.map((part) => answerStructure(part)) as [AnswerStructure, AnswerStructure];
  if (names.kind !== "sequence" || values.kind !== "sequence" || names.items.length !== values.items.length)
    return undefined;
  const letters = names.items.map((item) => (item.kind === "expression" ? item.latex : ""));
  const order = letters.every(isName) ? askedOrder(letters, context.question) : undefined;
  return order && { ...values, items: order.map((letter) => values.items[letters.indexOf(letter)]!) };
}

/** The tuple `(3, 4)` that `x = 3, y = 4` says: each value once, in the order of the question, else of the alphabet. */
function namedTuple(items: readonly AnswerStructure[], question: string): AnswerStructure | undefined {
  const values = new Map<string, string>();
  for (const item of items) {
    if (item.kind !== "relation" || item.parts.length !== 2 || item.operators[0] !== "=") return undefined;
    const [letter, value] = item.parts as [string, string];
    if (!isName(letter) || values.has(letter)) return undefined;
    values.set(letter, value);
  }
  const letters = [...values.keys()].sort();
  const order = askedOrder(letters, question) ?? letters;
  return { kind: "sequence", brackets: "()", items: order.map((letter) => answerStructure(values.get(letter)!)) };
}

function inOrder<Item>(a: readonly Item[], b: readonly Item[], equal: (a: Item, b: Item) => boolean): boolean {
  return a.length === b.length && a.every((item, i) => equal(item, b[i]!));
}

function inAnyOrder<Item>(
  answer: readonly Item[],
  gold: readonly Item[],
  equal: (a: Item, b: Item) => boolean,
): boolean {
  return (
    answer.every((item) => gold.some((wanted) => equal(item, wanted))) &&
    gold.every((wanted) => answer.some((item) => equal(item, wanted)))
  );
}
