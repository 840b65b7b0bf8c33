import { type AnswerChecker, createAnswerChecker } from "./answer-checker.ts";
import type { ComparisonPoolOptions } from "./equivalence/comparison-pool.ts";

/** Opens a checker that all who hold it at one time share; it is closed when the last of them disposes of it. */
export function sharedChecker(options: ComparisonPoolOptions = {}): () => Promise<AnswerChecker> {
  let checker: AnswerChecker | undefined;
  let holders = 0;
  return async () => {
    checker ??= createAnswerChecker({ threads: 2, ...options });
    const held = checker;
    let closed = false;
    holders += 1;
    return {
      check: (question) => held.check(question),
      [Symbol.asyncDispose]: async () => {
        if (closed) return;
        closed = true;
        holders -= 1;
        if (holders > 0) return;
        checker = undefined;
        await held[Symbol.asyncDispose]();
      },
    };
  };
}
