import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { byteLevelCharacters } from "./byte-level.ts";

/**
 * Where `@huggingface/tokenizers` gives other ids or texts than the `tokenizers` library of Python and Rust, found by
 * the interop suite, and what makes them agree. Delete a correction when the suite passes without it.
 */

/** How byte-level BPE splits text in the absence of a pattern of its own: GPT-2's rule. */
const byteLevelPattern = String.raw`'(?:s|t|d|m|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/**
 * The pre-tokenizer of a `tokenizer.json`, changed in three places:
 * - `Digits`, which knows only decimal digits and must know every number (`Ⅷ`, `½`, `²`), is written as a `Split`;
 * - so is the pattern inside `ByteLevel`, whose `\s` is JavaScript's (with U+FEFF, without U+0085) and must be
 *   Unicode's;
 * - bytes that the vocabulary lacks (SmolLM2's lacks some control characters) are dropped before merging, so that
 *   their neighbours can merge, where they would be dropped after it.
 */
export function correctPreTokenizer(definition: JsonObject): unknown {
  const corrected = correctSplits(definition.pre_tokenizer ?? null);
  const missing = definition.model === undefined ? "" : missingBytes(definition.model, definition.pre_tokenizer);
  if (missing === "") return corrected;
  const drop = { type: "Replace", pattern: { Regex: `[${missing}]` }, content: "" };
  return { type: "Sequence", pretokenizers: [corrected, drop] };
}

function correctSplits(definition: unknown): unknown {
  if (!isJsonObject(definition)) return definition;
  if (definition.type === "Sequence" && Array.isArray(definition.pretokenizers)) {
    return { ...definition, pretokenizers: definition.pretokenizers.map(correctSplits) };
  }
  if (definition.type === "Digits") {
    return splitBy(definition.individual_digits === true ? String.raw`\p{N}` : String.raw`\p{N}+`);
  }
  if (definition.type === "ByteLevel" && definition.use_regex !== false && definition.add_prefix_space !== true) {
    return { type: "Sequence", pretokenizers: [splitBy(byteLevelPattern), { ...definition, use_regex: false }] };
  }
  return definition;
}

/** What is used of a decoder of `@huggingface/tokenizers`. */
export interface TokenDecoder {
  readonly config?: { readonly type?: string } | undefined;
  readonly decoders?: readonly TokenDecoder[];
  text_decoder?: unknown;
}

/**
 * Makes the byte fallback inside a decoder keep a leading byte order mark, which it drops. One difference is left: of
 * a run of byte tokens that is no valid UTF-8, Rust makes every byte U+FFFD, also those of whole characters. Here only
 * the invalid parts become U+FFFD, so that text can be given out while it is being sampled.
 */
export function correctDecoder(decoder: TokenDecoder | null | undefined): void {
  for (const part of decoder?.decoders ?? []) correctDecoder(part);
  if (decoder?.config?.type === "ByteFallback") decoder.text_decoder = new TextDecoder("utf-8", { ignoreBOM: true });
}

function splitBy(regex: string): object {
  return { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false };
}

/** The characters of bytes that a byte-level vocabulary without an unknown token lacks. */
function missingBytes(model: unknown, preTokenizer: unknown): string {
  if (!isJsonObject(model) || !isJsonObject(model.vocab) || model.unk_token != null) return "";
  if (!JSON.stringify(preTokenizer ?? null).includes('"ByteLevel"')) return "";
  const vocabulary = model.vocab;
  return byteLevelCharacters()
    .filter((character) => !Object.hasOwn(vocabulary, character))
    .map((character) => (/[\\\]^-]/.test(character) ? `\\${character}` : character))
    .join("");
}
