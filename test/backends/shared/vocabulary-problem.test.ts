import { expect, it } from "vitest";
import { vocabularyProblem } from "../../../trainers/backends/shared/vocabulary-problem.ts";

/** A tokenizer with the special tokens `<i>` at these ids. */
function tokenizer(vocabularySize: number, special: readonly number[] = []) {
  const ids = new Map(special.map((id) => [`<${id}>`, id]));
  return { vocabularySize, specialTokens: [...ids.keys()], tokenId: (token: string) => ids.get(token) };
}

it("a tokenizer fits if only special tokens have no embedding", () => {
  expect(vocabularyProblem(10, tokenizer(10))).toBeUndefined();
  expect(vocabularyProblem(12, tokenizer(10, [3]))).toBeUndefined();
  expect(vocabularyProblem(10, tokenizer(11, [3, 10]))).toBeUndefined();
  expect(vocabularyProblem(10, tokenizer(12, [10, 11]))).toBeUndefined();
});

it("a token of texts without an embedding is refused", () => {
  for (const other of [tokenizer(11), tokenizer(11, [3]), tokenizer(12, [11])]) {
    expect(vocabularyProblem(10, other)).toMatchObject({ code: "model.malformed" });
  }
});
