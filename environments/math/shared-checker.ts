import { type AnswerChecker, createAnswerChecker } from "./answer-checker.ts";
import type { ComparisonPoolOptions } from "./equivalence/comparison-pool.ts";

/** Returns a function that opens a shared checker. The checker closes when its last user disposes it. */
export function sharedChecker(options: ComparisonPoolOptions = {}): () => Promise<AnswerChecker> {
  let checker: AnswerChecker | undefined;
  let users = 0;
  return async () => {
    checker ??= createAnswerChecker({ threads: 2, ...options });
    const current = checker;
    let closed = false;
    users += 1;
    return {
      check: (question) => current.check(question),
      [Symbol.asyncDispose]: async () => {
        if (closed) return;
        closed = true;
        users -= 1;
        if (users > 0) return;
        checker = undefined;
        await current[Symbol.asyncDispose]();
      },
    };
  };
}
