import type { ContentMarks } from "./content-marks.ts";

/** Text to token ids and back. */
export interface Tokenizer {
  /** The number of ids: every id is below it. */
  readonly vocabularySize: number;
  /** The ids of `text`. Special tokens written in the text are recognised; none is added around it. */
  encode(text: string): number[];
  /** The ids of a text with marks: those of the text without marks, but no control token that has a mark is recognised. */
  encodeMarked(text: string, marks: ContentMarks): number[];
  /** The text of `ids`, special tokens included. A split UTF-8 sequence gives U+FFFD. */
  decode(ids: readonly number[]): string;
  /** The id of a token such as `<|im_end|>`, or undefined. */
  tokenId(token: string): number | undefined;
  /** Tokens that stand for no text of their own, such as `<|im_end|>`. */
  readonly specialTokens?: readonly string[];
  /** Other tokens that are recognised in a text as a whole, such as `<think>` or a run of blanks. */
  readonly addedTokens?: readonly string[];
  readonly bosToken?: string;
  readonly eosToken?: string;
  readonly padToken?: string;
}
