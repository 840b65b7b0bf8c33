import { parentPort } from "node:worker_threads";
import { compareAnswers } from "./compare-answers.ts";
import type { Comparison } from "./comparison.ts";

// The first message says that the engine is loaded; then there is one answer to each question, in their order.
parentPort!.postMessage(true);
parentPort!.on("message", ({ answers, golds }: Comparison) => {
  parentPort!.postMessage(answers.some((answer) => golds.some((gold) => compareAnswers(answer, gold))));
});
