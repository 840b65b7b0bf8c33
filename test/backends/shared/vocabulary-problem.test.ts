import { expect, it } from "vitest";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { vocabularyProblem } from "../../../trainers/backends/shared/vocabulary-problem.ts";

/** A tokenizer with the special tokens `<i>` at these ids. */
function tokenizer(vocabularySize: number, special: readonly number[] = [], more: Partial<Tokenizer> = {}): Tokenizer {
  const unused = (): never => {
    throw new Error("Not used.");
  };
  return {
    vocabularySize,
    specialTokens: special.map((id) => `<${id}>`),
    tokenId: (token) => Number(token.slice(1, -1)),
    encode: unused,
    encodeMarked: unused,
    decode: unused,
    ...more,
  };
}

it("a tokenizer fits if only special tokens have no embedding", () => {
  expect(vocabularyProblem(10, tokenizer(10))).toBeUndefined();
  expect(vocabularyProblem(12, tokenizer(10, [3]))).toBeUndefined();
  expect(vocabularyProblem(10, tokenizer(11, [3, 10]))).toBeUndefined();
  expect(vocabularyProblem(10, tokenizer(12, [10, 11]))).toBeUndefined();
});

it("a token of texts without an embedding is refused", () => {
  const twice = tokenizer(12, [11, 11]);
  for (const other of [tokenizer(11), tokenizer(11, [3]), tokenizer(12, [11]), twice]) {
    expect(vocabularyProblem(10, other)).toMatchObject({ code: "model.malformed" });
  }
});

it("special tokens that prompts need are refused without an embedding", () => {
  for (const needed of [{ bosToken: "<10>" }, { eosToken: "<10>" }, { padToken: "<10>" }, { startIds: [10] }]) {
    expect(vocabularyProblem(10, tokenizer(11, [10], needed))).toMatchObject({ code: "model.malformed" });
    expect(vocabularyProblem(11, tokenizer(11, [10], needed))).toBeUndefined();
  }
});
