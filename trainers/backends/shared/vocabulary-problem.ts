import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";

/**
 * Returns the error for a tokenizer with more ids than a model has embeddings. Undefined if it fits, or if only special
 * tokens have no embedding that no prompt needs, such as that of Gemma 3 for images. A text that has one is refused when
 * it is used.
 */
export function vocabularyProblem(embeddings: number, tokenizer: Tokenizer): LyceumError | undefined {
  const { vocabularySize, specialTokens = [], startIds = [], bosToken, eosToken, padToken } = tokenizer;
  const idOf = (token: string | undefined): number => (token === undefined ? -1 : (tokenizer.tokenId(token) ?? -1));
  const isMissing = (id: number): boolean => id >= embeddings;
  const special = new Set(specialTokens.map(idOf).filter(isMissing));
  const needed = [...startIds, ...[bosToken, eosToken, padToken].map(idOf)];
  if (vocabularySize - embeddings <= special.size && !needed.some(isMissing)) return undefined;
  return new LyceumError({
    code: "model.malformed",
    message: `The model has ${embeddings} embeddings, but its tokenizer has ${vocabularySize} ids.`,
    hint: "For a model from scratch, set vocab_size to at least the tokenizer's vocabulary size.",
  });
}
