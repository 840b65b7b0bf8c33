import { LyceumError } from "../../src/contract/errors/index.ts";
import { answerLine, type MathTask } from "../math/math-problem.ts";

/** A row of GSM8K. The answer is a worked solution whose last line is `#### N`. */
export interface Gsm8kRow {
  readonly question: string;
  readonly answer: string;
}

/**
 * Returns the task of a row. The correct answer is the text after `####`, without thousands separators. Calculator
 * annotations (`<<48/2=24>>`) are removed from the solution unless `calculatorAnnotations` is set. Throws
 * `data.malformed` for a row without an answer line.
 */
export function gsm8kTask(row: Gsm8kRow, options: { readonly calculatorAnnotations: boolean }): MathTask {
  const match = /^([\s\S]*?)\n?####[ \t]*([^\n]*?)\s*$/.exec(row.answer);
  const answer = match?.[2]?.replaceAll(",", "") ?? "";
  if (match === null || !/^-?\d+(?:\.\d+)?$/.test(answer)) {
    throw new LyceumError({
      code: "data.malformed",
      message: `A GSM8K answer does not end in "#### N": ${JSON.stringify(row.answer.slice(-40))}.`,
      hint: 'Each row needs a "question" and an "answer" whose last line is #### and a number.',
    });
  }
  const steps = options.calculatorAnnotations ? match[1]! : match[1]!.replace(/<<[^<>\n]*>>/g, "");
  return {
    question: row.question.trim(),
    answer,
    kind: "gsm8k",
    difficulty: steps.split("\n").filter((line) => line.trim() !== "").length,
    solution: `${steps.trim()}\n${answerLine(answer)}`,
  };
}
