import { asksForFactors, asksForSimpleForm } from "./asked-form.ts";
import { withoutDecimal } from "./copied-answer.ts";
import { writtenExpression } from "./equal-expressions.ts";
import { normalLatex } from "./normal-latex.ts";
import { splitTop } from "./split-top.ts";
import { type MathJson, unfinishedWork, unknownFactors } from "./unfinished-work.ts";

/**
 * True if an answer is in the form that the question asks for. In a simple form, no kind of work may be left that every
 * form of the right answer has done. If the right answer is `2\sqrt{3}`, `\sqrt{4\cdot3}` is not simple. `2^{10}` is
 * simple if the right answer is a power of a number too. A product must have as many factors as the right answer.
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
  const allowed = new Set(golds.flatMap((gold) => [...unfinishedWork(gold)]));
  return [...unfinishedWork(answer)].every((work) => allowed.has(work));
}

/** Parses an answer as it is written. Of an equation, takes the last side. */
function written(answer: string): MathJson {
  return writtenExpression(splitTop(withoutDecimal(normalLatex(answer)), /^=/).parts.at(-1)!);
}
