import type { Json } from "../../../src/contract/json.ts";
import { malformedFile } from "../../../src/core/tokens/model-file.ts";
import type { GgufFile } from "./gguf-file.ts";
import { unsupportedGguf } from "./gguf-header.ts";

/** The numbers of `tokenizer.ggml.token_type`. */
const tokenTypes = { control: 3, userDefined: 4, unused: 5 } as const;

const llama3Pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const qwen2Pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** How a byte-level tokenizer splits a text, which a GGUF file only names. */
interface Splitting {
  readonly pattern?: string;
  readonly singleDigits?: boolean;
  readonly normalizer?: Json;
  /** True if a whole word that is a token is not put together by merges. */
  readonly ignoreMerges?: boolean;
  /** True if a text begins with the start token unless the file says otherwise. */
  readonly addStart?: boolean;
}

const llama3: Splitting = { pattern: llama3Pattern, ignoreMerges: true, addStart: true };
const qwen2: Splitting = { pattern: qwen2Pattern, normalizer: { type: "NFC" } };

/** The values of `tokenizer.ggml.pre` of the supported families. Llama 3 without its start token is `smaug-bpe`. */
const splittings: Readonly<Record<string, Splitting>> = {
  "gpt-2": {},
  smollm: { singleDigits: true },
  starcoder: { singleDigits: true },
  "llama-bpe": llama3,
  "llama-v3": llama3,
  llama3,
  "smaug-bpe": { ...llama3, addStart: false },
  qwen2,
  "deepseek-r1-qwen": qwen2,
};

/**
 * Returns the tokenizer files of a Hugging Face folder for the tokenizer of a GGUF file, with its chat templates. Throws
 * `model.unsupported` for an unknown kind of tokenizer, and `model.malformed`.
 */
export function ggufTokenizerFiles(file: GgufFile): Record<string, Json> {
  const vocabulary = readVocabulary(file);
  const kind = file.required("tokenizer.ggml.model", file.text("tokenizer.ggml.model"));
  const { addStart, ...parts } = kindOf(file, kind)(file, vocabulary);
  const tokenOf = (role: string): string | undefined => {
    const id = file.number(`tokenizer.ggml.${role}_token_id`);
    if (id === undefined || vocabulary.tokens[id] !== undefined) return vocabulary.tokens[id ?? -1];
    throw malformedFile({ file: file.path, reason: `its ${role}_token_id ${id} is not in its vocabulary` });
  };
  const start = (file.flag("tokenizer.ggml.add_bos_token") ?? addStart) ? tokenOf("bos") : undefined;
  const eos = tokenOf("eos");
  const turnEnds = ["eos", "eot", "eom"].map((role) => file.number(`tokenizer.ggml.${role}_token_id`));
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: vocabulary.added,
      normalizer: null,
      ...parts,
      post_processor: start === undefined ? null : startTemplate(start, vocabulary.tokens.indexOf(start)),
    },
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      clean_up_tokenization_spaces: false,
      model_max_length: file.number(`${file.text("general.architecture")}.context_length`) ?? null,
      bos_token: tokenOf("bos") ?? null,
      eos_token: eos ?? null,
      unk_token: tokenOf("unknown") ?? null,
      pad_token: tokenOf("padding") ?? eos ?? null,
    },
    "generation_config.json": { eos_token_id: [...new Set(turnEnds.filter((id) => id !== undefined))] },
    ...templateFiles(file),
  };
}

interface Vocabulary {
  /** By id. Undefined for ids that only fill the embedding. */
  readonly tokens: readonly (string | undefined)[];
  readonly ids: Readonly<Record<string, number>>;
  readonly added: Json[];
}

function readVocabulary(file: GgufFile): Vocabulary {
  const texts = file.required("tokenizer.ggml.tokens", file.texts("tokenizer.ggml.tokens"));
  const types = file.numbers("tokenizer.ggml.token_type") ?? texts.map(() => 1);
  if (types.length !== texts.length) {
    throw malformedFile({ file: file.path, reason: `it has ${texts.length} tokens, but ${types.length} token types` });
  }
  const tokens = texts.map((token, id) => (types[id] === tokenTypes.unused ? undefined : token));
  const ids = new Map<string, number>();
  const added: Json[] = [];
  for (const [id, content] of tokens.entries()) {
    if (content === undefined) continue;
    if (ids.has(content))
      throw malformedFile({ file: file.path, reason: `it has the token ${JSON.stringify(content)} twice` });
    ids.set(content, id);
    const special = types[id] === tokenTypes.control;
    if (!special && types[id] !== tokenTypes.userDefined) continue;
    added.push({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special });
  }
  return { tokens, ids: Object.fromEntries(ids), added };
}

/** The parts of a `tokenizer.json` that depend on the kind of tokenizer. */
interface TokenizerParts extends Readonly<Record<string, Json | boolean>> {
  readonly addStart: boolean;
}

type MakeParts = (file: GgufFile, vocabulary: Vocabulary) => TokenizerParts;

function kindOf(file: GgufFile, kind: string): MakeParts {
  if (kind === "gpt2") return byteLevelParts;
  if (kind === "llama") return sentencePieceParts;
  throw unsupportedGguf(
    file.path,
    `a tokenizer of the kind "${kind}"`,
    "Known kinds: gpt2 (byte-level), llama (SentencePiece).",
  );
}

function byteLevelParts(file: GgufFile, { ids }: Vocabulary): TokenizerParts {
  const name = file.text("tokenizer.ggml.pre") ?? "default";
  const splitting = Object.hasOwn(splittings, name) ? splittings[name] : undefined;
  if (splitting === undefined) {
    throw unsupportedGguf(
      file.path,
      `the pre-tokenizer "${name}" (tokenizer.ggml.pre)`,
      `Known ones: ${Object.keys(splittings).join(", ")}. For another model, use its release in safetensors.`,
    );
  }
  const { pattern, singleDigits = false, normalizer = null, ignoreMerges = false, addStart = false } = splitting;
  const byteLevel = {
    type: "ByteLevel",
    add_prefix_space: false,
    trim_offsets: true,
    use_regex: pattern === undefined,
  };
  const before: Json[] = singleDigits ? [{ type: "Digits", individual_digits: true }] : [];
  if (pattern !== undefined) {
    before.push({ type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false });
  }
  return {
    addStart,
    normalizer,
    pre_tokenizer: { type: "Sequence", pretokenizers: [...before, byteLevel] },
    decoder: byteLevel,
    model: {
      ...bpe,
      ignore_merges: ignoreMerges,
      vocab: ids,
      merges: [...file.required("tokenizer.ggml.merges", file.texts("tokenizer.ggml.merges"))],
    },
  };
}

/** SentencePiece's BPE, in the form that Llama 2's `tokenizer.json` has. */
function sentencePieceParts(file: GgufFile, { tokens, ids }: Vocabulary): TokenizerParts {
  const scores = file.required("tokenizer.ggml.scores", file.numbers("tokenizer.ggml.scores"));
  const unknown = tokens[file.number("tokenizer.ggml.unknown_token_id") ?? 0];
  const space = { type: "Replace", pattern: { String: " " }, content: "▁" };
  const prefix = { type: "Prepend", prepend: "▁" };
  const prefixed = file.flag("tokenizer.ggml.add_space_prefix") ?? true;
  return {
    addStart: true,
    normalizer: { type: "Sequence", normalizers: prefixed ? [prefix, space] : [space] },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(prefixed ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      ...bpe,
      unk_token: unknown ?? null,
      fuse_unk: true,
      byte_fallback: true,
      vocab: ids,
      merges: mergesOf(tokens, { ids, scores }),
    },
  };
}

const bpe = {
  type: "BPE",
  dropout: null,
  unk_token: null,
  continuing_subword_prefix: null,
  end_of_word_suffix: null,
  fuse_unk: false,
  byte_fallback: false,
  ignore_merges: false,
};

/**
 * Returns the merges that a vocabulary with scores implies: every pair of tokens that form a third, highest score
 * first. Equal scores are ordered by the lengths of the two tokens, longest first, as in `transformers`.
 */
function mergesOf(
  tokens: readonly (string | undefined)[],
  { ids, scores }: { readonly ids: Readonly<Record<string, number>>; readonly scores: readonly number[] },
): [string, string][] {
  const pairs = tokens.flatMap((token = "", id) => {
    const letters = [...token];
    const found: { readonly pair: [string, string]; readonly score: number }[] = [];
    for (let cut = 1; cut < letters.length; cut++) {
      const pair: [string, string] = [letters.slice(0, cut).join(""), letters.slice(cut).join("")];
      if (pair.every((part) => Object.hasOwn(ids, part))) found.push({ pair, score: scores[id] ?? 0 });
    }
    return found.toSorted((a, b) => ids[a.pair[0]]! - ids[b.pair[0]]! || ids[a.pair[1]]! - ids[b.pair[1]]!);
  });
  const length = (text: string): number => [...text].length;
  return pairs
    .toSorted(
      (a, b) => b.score - a.score || length(b.pair[0]) - length(a.pair[0]) || length(b.pair[1]) - length(a.pair[1]),
    )
    .map(({ pair }) => pair);
}

/** A post-processor that puts a token in front of a text. */
function startTemplate(token: string, id: number): Json {
  const start = { SpecialToken: { id: token, type_id: 0 } };
  const sequence = (name: string): Json => ({ Sequence: { id: name, type_id: 0 } });
  return {
    type: "TemplateProcessing",
    single: [start, sequence("A")],
    pair: [start, sequence("A"), sequence("B")],
    special_tokens: { [token]: { id: token, ids: [id], tokens: [token] } },
  };
}

/** The files of the chat template, and of the further ones that the file has by name. */
function templateFiles(file: GgufFile): Record<string, string> {
  const key = "tokenizer.chat_template";
  const template = file.text(key);
  const files: Record<string, string> = template === undefined ? {} : { "chat_template.jinja": template };
  for (const name of file.unreadKeys(`${key}.`).map((found) => found.slice(key.length + 1))) {
    if (!/^[\w-]+$/.test(name))
      throw malformedFile({ file: file.path, reason: `a chat template has the name ${JSON.stringify(name)}` });
    files[`additional_chat_templates/${name}.jinja`] = file.text(`${key}.${name}`)!;
  }
  return files;
}
