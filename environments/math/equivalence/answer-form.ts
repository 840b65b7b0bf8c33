import { asksForFactors, asksForSimpleForm } from "./asked-form.ts";
import { withoutDecimal } from "./copied-answer.ts";
import { writtenExpression } from "./equal-expressions.ts";
import { normalLatex } from "./normal-latex.ts";
import { splitTop } from "./split-top.ts";
import { type MathJson, unknownFactors, workLeft } from "./work-left.ts";

/**
 * Whether an answer is in the form that the question asks for. A simple form leaves nothing undone that every form of
 * the right answer has done: with `2\sqrt{3}` for the right one, `\sqrt{4\cdot3}` is none; `2^{10}` is one where the
 * right answer is a power of a number too. A product has as many factors as the right one.
 */
export function isInAskedForm(options: {
  readonly answer: string;
  readonly question: string;
  readonly golds: readonly string[];
}): boolean {
  const { question } = options;
  const answer = written(options.answer);
  const golds = options.golds.map(written);
  if (asksForFactors(question) && golds.every((gold) => unknownFactors(answer) < unknownFactors(gold))) return false;
  if (!asksForSimpleForm(question)) return true;
  const allowed = new Set(golds.flatMap((gold) => [...workLeft(gold)]));
  return [...workLeft(answer)].every((work) => allowed.has(work));
}

/** An answer as it is written; of an equation its last side. */
function written(answer: string): MathJson {
  return writtenExpression(splitTop(withoutDecimal(normalLatex(answer)), /^=/).parts.at(-1)!);
}
