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

/** The context of a comparison. */
interface Context {
  /** The question. Empty if it is unknown. */
  readonly question: string;
  readonly joints: { readonly answer: Joint; readonly gold: Joint };
}

/** Separates two forms of one answer: `x < 3, i.e. (-\infty, 3)`. */
const restatement =
  /[,;]?\s*(?:\\(?:Rightarrow|Longrightarrow|implies|iff|Leftrightarrow|Longleftrightarrow)(?![A-Za-z])|\\text\s*\{[\s,;(]*(?:i\.e\.|that is|or equivalently|equivalently|in interval notation)[\s,:]*\}|(?:i\.e\.|\bthat is|\bor equivalently|\bequivalently|\bin interval notation)[,:]?)\s*/g;

/**
 * True if two answers in LaTeX or plain notation are equivalent. Uses the `question` if it is known. Never throws. May
 * take very long for hostile texts.
 */
export function compareAnswers(answer: string, gold: string, question = ""): boolean {
  try {
    const [given, wanted] = withoutChoice(normalLatex(answer.replace(restatement, ", ")), normalLatex(gold));
    const context = { question, joints: { answer: jointOf(answer), gold: jointOf(gold) } };
    return equalAnswers(answerStructure(given), answerStructure(wanted), context);
  } catch {
    // The engine cannot process one of the answers (a stack overflow, or a number that is too large).
    return false;
  }
}

function equalAnswers(answer: AnswerStructure, gold: AnswerStructure, context: Context): boolean {
  if (equalStructures(answer, gold, context)) return true;
  // An interval next to the equivalent inequality.
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

/** Returns the single structure that several statements amount to, if the other side is one structure. */
function saidBy(
  items: readonly AnswerStructure[],
  other: AnswerStructure,
  { question, joint }: { readonly question: string; readonly joint: Joint },
): AnswerStructure | undefined {
  // A set of one value equals that value.
  if (items.length === 1) return items[0];
  if (other.kind === "sequence") {
    const tuple = namedTuple(items, question);
    if (tuple !== undefined) return tuple;
  }
  if (other.kind !== "sequence" && other.kind !== "union") return undefined;
  const set = inequalitySet(items, joint);
  return set === undefined ? undefined : answerStructure(set);
}

/**
 * Matches the name of a value to the left of an equals sign: `x`, `x_1`, `f(3)`, `|AB|`, `\angle ABC`, `(x, y)`, a
 * word.
 */
const name = String.raw`(?:\\?[A-Za-z]+(?:_\{?\w+\}?)?'?|\\text\s*\{[^{}]*\})`;
const named = new RegExp(
  String.raw`^(?:${name}(?:\s*\([\w\s,.+-]*\))?|P\s*\([^()=]*\)|${name}(?:\s*:\s*${name})+|\|\s*${name}\s*\||\\(?:angle|overline|vec)\s*\{?\s*${name}\s*\}?|\(${name}(?:\s*,\s*${name})+\))$`,
);
const saysNothing: AnswerStructure = { kind: "matrix", fence: "none", rows: [] };

/**
 * Returns the value of a relation if the other side is not a relation: 3 for `x = 3`, the interval `(1, 2)` for
 * `1 < x < 2`, and 3 for `6 / 2 = 3`, which is true.
 */
function relationValue(relation: Relation, other: AnswerStructure, context: Context): AnswerStructure {
  return valuesOf(relation, other, context)[0] ?? saysNothing;
}

/** Returns the values that a relation states. For `22/7 ≈ 3.14`, these are the exact value and its decimal. */
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

/**
 * True if a chain of equations states its last side as the answer: the chain is true, or its first side names the
 * value.
 */
function isChain(parts: readonly string[], question: string): boolean {
  const value = parts.at(-1)!;
  const [first, ...steps] = parts.slice(0, -1);
  if (first === undefined) return true;
  const isName = named.test(first) || isAskedFormula(first, question);
  const isQuantity = isName || (steps.length > 0 && lettersOf(first).size > 1) || isSumOfNamed(first, value);
  const holds = (step: string): boolean => equalExpressions(step, value) || equalMatrixSums(step, value);
  // A step with letters, as in `A = \pi r^2 = 9\pi`, is true for the values of the letters.
  const isStep = (step: string): boolean => named.test(step) || (isName && lettersOf(step).size > 0) || holds(step);
  return (isQuantity || holds(first)) && steps.every(isStep);
}

/** Returns the letters of an expression that stand for numbers. */
function lettersOf(latex: string): ReadonlySet<string> {
  const bare = latex.replace(/\\text\s*\{[^{}]*\}|\\(?:begin|end)\{[a-z]*\}|\\[A-Za-z]+/g, " ");
  return new Set(bare.match(/[A-Za-df-hj-z]/g) ?? []);
}

/** True for `A + B` or `2A - B` before a matrix. The names may also be bold vectors. */
function isSumOfNamed(latex: string, value: string): boolean {
  const letters = latex.replace(/\\text\s*\{\s*([A-Za-z])\s*\}/g, (_all, letter: string) => letter.toUpperCase());
  return matrixSum(value) !== undefined && /^[\dA-HJ-Z\s+-]+$/.test(letters) && lettersOf(letters).size > 1;
}

const isMatrixSum = (structure: AnswerStructure): boolean =>
  structure.kind === "expression" && structure.latex.includes("matrix}") && matrixSum(structure.latex) !== undefined;

/**
 * Compares matrices. An unevaluated sum of matrices is no answer if the right answer is evaluated, unless it contains
 * unknowns.
 */
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

/**
 * Compares ratios term by term. A fraction counts as a ratio if the right answer is one, or if the question asks for
 * one.
 */
function equalRatios(answer: AnswerStructure, gold: AnswerStructure, context: Context): boolean {
  const [given, wanted] = [ratioItems(answer), ratioItems(gold)];
  if (given === undefined || wanted === undefined) return false;
  const areBoth = answer.kind === "ratio" && gold.kind === "ratio";
  if (!areBoth && /\bodds\b/i.test(context.question)) return false;
  if (gold.kind !== "ratio" && !/\bratio\b/i.test(context.question)) return false;
  return inOrder(given, wanted, (a, b) => equalStructures(a, b, context));
}

/** Returns the terms of a ratio, or of a fraction of numbers. */
function ratioItems(structure: AnswerStructure): readonly AnswerStructure[] | undefined {
  if (structure.kind === "ratio") return structure.items;
  if (structure.kind !== "expression") return undefined;
  const match = /^\\frac\s*\{(\d+)\}\s*\{(\d+)\}$|^(\d+)\s*\/\s*(\d+)$/.exec(structure.latex);
  return match
    ?.slice(1)
    .filter((part) => part !== undefined)
    .map((part) => answerStructure(part));
}

/** Reorders `(k, n) = (45, 2)` to the order that the question states, if it states one. */
function inAskedOrder(relation: Relation, gold: AnswerStructure, context: Context): AnswerStructure | undefined {
  if (gold.kind !== "sequence" || relation.parts.length !== 2 || relation.operators[0] !== "=") return undefined;
  const [names, values] = relation.parts.map((part) => answerStructure(part)) as [AnswerStructure, AnswerStructure];
  if (names.kind !== "sequence" || values.kind !== "sequence" || names.items.length !== values.items.length)
    return undefined;
  const letters = names.items.map((item) => (item.kind === "expression" ? item.latex : ""));
  const order = letters.every(isName) ? askedOrder(letters, context.question) : undefined;
  return order && { ...values, items: order.map((letter) => values.items[letters.indexOf(letter)]!) };
}

/**
 * Returns the tuple `(3, 4)` for `x = 3, y = 4`. Each name must occur once. Ordered as in the question, otherwise by
 * alphabet.
 */
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
