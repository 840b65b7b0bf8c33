import type { Json } from "../../contract/json.ts";
import { byteLevelCharacters } from "./byte-level.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * The special tokens of the byte tokenizer. Ids 0 to 255 are the bytes of UTF-8. The special tokens follow from 256 in
 * this order.
 */
export const byteSpecialTokens: readonly string[] = [
  "<|bos|>",
  "<|eot|>",
  "<|pad|>",
  "<|system|>",
  "<|user|>",
  "<|tool|>",
  "<|assistant|>",
];

const byteCount = 256;
const specialIds: ReadonlyMap<string, number> = new Map(byteSpecialTokens.map((token, i) => [token, byteCount + i]));
const specialPattern = /(<\|(?:bos|eot|pad|system|user|tool|assistant)\|>)/;
const encoder = new TextEncoder();

/**
 * Creates a tokenizer with one id per UTF-8 byte and seven special tokens: a vocabulary of 263 for models from scratch.
 * Lone surrogates become U+FFFD.
 */
export function createByteTokenizer(): Tokenizer {
  return {
    vocabularySize: byteCount + byteSpecialTokens.length,
    encode: encodeBytes,
    encodeMarked: (text, marks) => encodeBytes(text, (piece) => marks.unmark(piece)),
    decode: decodeBytes,
    tokenId: (token) => {
      const id = specialIds.get(token);
      if (id !== undefined) return id;
      const bytes = encoder.encode(token);
      return bytes.length === 1 && token.isWellFormed() ? bytes[0] : undefined;
    },
    specialTokens: byteSpecialTokens,
    bosToken: "<|bos|>",
    eosToken: "<|eot|>",
    padToken: "<|pad|>",
  };
}

function encodeBytes(text: string, unmark: (piece: string) => string = (piece) => piece): number[] {
  const ids: number[] = [];
  for (const piece of text.split(specialPattern)) {
    const special = specialIds.get(piece);
    if (special !== undefined) ids.push(special);
    else for (const byte of encoder.encode(unmark(piece))) ids.push(byte);
  }
  return ids;
}

function decodeBytes(ids: readonly number[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  let bytes: number[] = [];
  for (const id of ids) {
    if (id < byteCount) {
      bytes.push(id);
      continue;
    }
    text += decoder.decode(Uint8Array.from(bytes)) + (byteSpecialTokens[id - byteCount] ?? "");
    bytes = [];
  }
  return text + decoder.decode(Uint8Array.from(bytes));
}

/**
 * Returns the files, by name, with which `transformers` loads this tokenizer with the same ids and a chat template that
 * renders like `createByteRenderer`.
 */
export function byteTokenizerFiles(): Readonly<Record<string, Json>> {
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false };
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: [...specialIds].map(([content, id]) => ({ id, content, ...flags })),
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(byteLevelCharacters().map((character, byte) => [character, byte])),
        merges: [],
      },
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      bos_token: "<|bos|>",
      eos_token: "<|eot|>",
      pad_token: "<|pad|>",
      clean_up_tokenization_spaces: false,
      chat_template: byteChatTemplate,
      response_template: byteResponseTemplate,
    },
    "generation_config.json": {
      bos_token_id: specialIds.get("<|bos|>")!,
      eos_token_id: specialIds.get("<|eot|>")!,
      pad_token_id: specialIds.get("<|pad|>")!,
    },
  };
}

/**
 * How `transformers` reads an answer of this layout, which TRL asks for. Its form has no calls without arguments: such a
 * call stays text.
 */
const byteResponseTemplate: Json = {
  defaults: { role: "assistant" },
  start_anchor: "<|assistant|>",
  fields: {
    tool_calls: {
      open_pattern: "<\\|tool\\|>(?P<name>[\\w.:/-]+)",
      close_pattern: "(?=<\\|tool\\|>)|<\\|eot\\|>",
      repeats: true,
      content: "json",
      transform: { type: "function", function: { name: "{name}", arguments: "{content}" } },
    },
    content: { close: "<|eot|>", content: "text", content_args: { strip: false } },
  },
};

/** The layout of `createByteRenderer` as a Jinja template. */
const byteChatTemplate: string = [
  "{%- if tools -%}{{- '<|bos|>' -}}",
  "{%- for tool in tools -%}{{- tool.function.name -}}{%- if not loop.last -%}{{- ',' -}}{%- endif -%}{%- endfor -%}",
  "{%- endif -%}",
  "{%- for message in messages -%}",
  "{%- if tools or not (loop.first and message.role == 'user' and message.content) -%}{{- '<|' + message.role + '|>' -}}{%- endif -%}",
  "{{- message.content or '' -}}",
  "{%- for call in message.tool_calls or [] -%}{{- '<|tool|>' + call.function.name -}}",
  "{%- if call.function.arguments is string -%}{{- call.function.arguments -}}",
  "{%- elif call.function.arguments -%}{{- call.function.arguments | tojson(separators=(',', ':')) -}}{%- endif -%}",
  "{%- endfor -%}",
  "{%- if message.role == 'assistant' -%}{{- '<|eot|>' -}}{%- endif -%}",
  "{%- endfor -%}",
  "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}",
].join("");
