import { parentPort } from "node:worker_threads";
import { isInAskedForm } from "./answer-form.ts";
import { compareAnswers } from "./compare-answers.ts";
import type { Comparison } from "./comparison.ts";
import { copyTest } from "./copied-answer.ts";

// The first message reports that the engine is loaded. Then there is one answer per question, in order.
parentPort!.postMessage(true);
parentPort!.on("message", ({ answers, golds, asked }: Comparison) => {
  const isCopied = asked === undefined ? () => false : copyTest(asked.question, asked.golds);
  const isAsAsked = (answer: string): boolean => asked === undefined || isInAskedForm({ answer, ...asked });
  const isRight = (answer: string): boolean => golds.some((gold) => compareAnswers(answer, gold, asked?.question));
  parentPort!.postMessage(answers.some((answer) => isRight(answer) && !isCopied(answer) && isAsAsked(answer)));
});
