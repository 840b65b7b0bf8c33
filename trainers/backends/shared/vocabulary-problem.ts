import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";

/**
 * Returns the error for a tokenizer with more ids than a model has embeddings. Undefined if it fits, or if only special
 * tokens have no embedding, such as that of Gemma 3 for images: a text that has one is refused when it is used.
 */
export function vocabularyProblem(
  embeddings: number,
  { vocabularySize, specialTokens = [], tokenId }: Pick<Tokenizer, "vocabularySize" | "specialTokens" | "tokenId">,
): LyceumError | undefined {
  const special = specialTokens.filter((token) => tokenId(token)! >= embeddings);
  if (vocabularySize - embeddings <= special.length) return undefined;
  return new LyceumError({
    code: "model.malformed",
    message: `The model has ${embeddings} embeddings, but its tokenizer has ${vocabularySize} ids.`,
    hint: "For a model from scratch, set vocab_size to at least the tokenizer's vocabulary size.",
  });
}
