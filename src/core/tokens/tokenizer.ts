import type { ContentMarks } from "./content-marks.ts";

/** Converts text to token ids and back. */
export interface Tokenizer {
  /** The number of ids. Every id is below it. */
  readonly vocabularySize: number;
  /** Encodes `text`. Special tokens in the text are recognized. No special token is added around it. */
  encode(text: string): number[];
  /**
   * Encodes a marked text. The ids are those of the text without marks, but control tokens with a mark are not
   * recognized.
   */
  encodeMarked(text: string, marks: ContentMarks): number[];
  /** Decodes `ids`, including special tokens. An incomplete UTF-8 sequence becomes U+FFFD. */
  decode(ids: readonly number[]): string;
  /** Returns the id of a token such as `<|im_end|>`, or undefined. */
  tokenId(token: string): number | undefined;
  /** Tokens without a text of their own, such as `<|im_end|>`. */
  readonly specialTokens?: readonly string[];
  /** Other tokens that are recognized as a whole, such as `<think>` or a run of blanks. */
  readonly addedTokens?: readonly string[];
  /** Returns a text in the form that is split into tokens, such as `<s>` for `＜S＞`. Default: texts are not changed. */
  readonly normalize?: (text: string) => string;
  /**
   * The ids that the tokenizer puts in front of a text, such as that of `<s>`. `encode` does not add them. Default:
   * none.
   */
  readonly startIds?: readonly number[];
  readonly bosToken?: string;
  readonly eosToken?: string;
  readonly padToken?: string;
}
