import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { byteLevelCharacters } from "./byte-level.ts";

/**
 * Corrections where `@huggingface/tokenizers` returns different ids or texts than the `tokenizers` library of Python
 * and Rust. The interop suite finds the differences. Delete a correction when the suite passes without it.
 */

/** GPT-2's pattern, by which byte-level BPE splits text if it has no pattern of its own. */
const byteLevelPattern = String.raw`'(?:s|t|d|m|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/**
 * Returns the pre-tokenizer of a `tokenizer.json` with three corrections:
 * - `Digits` knows only decimal digits, but must know every number (`Ⅷ`, `½`, `²`). It is replaced by a `Split`.
 * - The pattern inside `ByteLevel` uses JavaScript's `\s` (with U+FEFF, without U+0085) instead of Unicode's. It is
 *   also replaced by a `Split`.
 * - Bytes that the vocabulary lacks (SmolLM2's lacks some control characters) are dropped before merging instead of
 *   after it, so that their neighbours can merge.
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

/** The used part of a `@huggingface/tokenizers` decoder. */
export interface TokenDecoder {
  readonly config?: { readonly type?: string } | undefined;
  readonly decoders?: readonly TokenDecoder[];
  text_decoder?: unknown;
}

/**
 * Makes the byte fallback in a decoder keep a leading byte order mark. One difference remains: for a run of byte tokens
 * that is not valid UTF-8, Rust replaces every byte by U+FFFD, even those of whole characters. Here only the invalid
 * parts become U+FFFD, so that text can be streamed during sampling.
 */
export function correctDecoder(decoder: TokenDecoder | null | undefined): void {
  for (const part of decoder?.decoders ?? []) correctDecoder(part);
  if (decoder?.config?.type === "ByteFallback") decoder.text_decoder = new TextDecoder("utf-8", { ignoreBOM: true });
}

function splitBy(regex: string): object {
  return { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false };
}

/** Returns the characters of bytes that a byte-level vocabulary without an unknown token lacks. */
function missingBytes(model: unknown, preTokenizer: unknown): string {
  if (!isJsonObject(model) || !isJsonObject(model.vocab) || model.unk_token != null) return "";
  if (!JSON.stringify(preTokenizer ?? null).includes('"ByteLevel"')) return "";
  const vocabulary = model.vocab;
  return byteLevelCharacters()
    .filter((character) => !Object.hasOwn(vocabulary, character))
    .map((character) => (/[[\\\]^-]/.test(character) ? `\\${character}` : character))
    .join("");
}
