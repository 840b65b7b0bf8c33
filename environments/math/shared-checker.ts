import { sharedResource } from "../../src/core/environment/shared-resource.ts";
import { type AnswerChecker, createAnswerChecker } from "./answer-checker.ts";
import type { ComparisonPoolOptions } from "./equivalence/comparison-pool.ts";

/** Returns an `open` function of a checker that all its users share. It closes when the last user disposes of it. */
export function sharedChecker(options: ComparisonPoolOptions = {}): () => Promise<AnswerChecker> {
  const open = sharedResource(async () => createAnswerChecker({ threads: 2, ...options }));
  return async () => {
    const shared = await open();
    return {
      check: (question) => shared.value.check(question),
      [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
    };
  };
}
