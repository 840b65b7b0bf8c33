import path from "node:path";
import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { withConfigTokens } from "./added-tokens.ts";
import { encodeMarked, type MarkedEngine, normalizerOf } from "./marked-encoding.ts";
import { malformedFile, readModelJson } from "./model-file.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { checkTokenizer } from "./tokenizer-check.ts";
import { correctDecoder, correctPreTokenizer, type TokenDecoder } from "./tokenizer-corrections.ts";

/**
 * The used part of `@huggingface/tokenizers`. It is declared here because that package's own types become `any` under
 * `nodenext` resolution.
 */
interface Engine extends MarkedEngine {
  readonly decoder: TokenDecoder | null;
  decode(ids: number[], options: { clean_up_tokenization_spaces: boolean }): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_vocab(): Map<string, number>;
  get_added_tokens_decoder(): Map<number, { readonly content: string; readonly special: boolean }>;
}

/** The tokenizer models that the engine supports. It would treat any other as a plain word list. */
const modelTypes: ReadonlySet<unknown> = new Set(["BPE", "WordPiece", "Unigram"]);

/**
 * Loads the tokenizer of a Hugging Face folder from `tokenizer.json` and, if present, `tokenizer_config.json`,
 * `special_tokens_map.json` and `added_tokens.json`. Tokens that only these files have are added, as in `transformers`.
 * Ids outside the vocabulary (an embedding may be padded) decode to an empty text. Throws `model.missing` without
 * `tokenizer.json`, `model.unsupported` for an unknown kind of tokenizer, and `model.malformed` if a file is malformed.
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const definition = await readModelJson(folder, "tokenizer.json");
  if (definition === undefined) {
    throw new LyceumError({
      code: "model.missing",
      message: `${folder} has no tokenizer.json.`,
      hint: 'Save the tokenizer in the fast format: `AutoTokenizer.from_pretrained("...").save_pretrained(folder)`.',
    });
  }
  const config = (await readModelJson(folder, "tokenizer_config.json")) ?? {};
  const specialTokensMap = (await readModelJson(folder, "special_tokens_map.json")) ?? {};
  const addedTokens = (await readModelJson(folder, "added_tokens.json")) ?? {};
  const file = path.join(folder, "tokenizer.json");
  const complete = withConfigTokens({ file, definition, config, specialTokensMap, addedTokens });
  const engine = await createEngine({ file, definition: complete, config });
  return wrapEngine(engine, {
    bosToken: tokenNamed("bos_token", config, specialTokensMap),
    eosToken: tokenNamed("eos_token", config, specialTokensMap),
    padToken: tokenNamed("pad_token", config, specialTokensMap),
    startIds: startIds(engine),
  });
}

/** Like `transformers`, reads the post-processor of `tokenizer.json`, and not `add_bos_token` of the config. */
function startIds(engine: Engine): readonly number[] {
  const [ids, whole] = [false, true].map((add_special_tokens) => engine.encode("a", { add_special_tokens }).ids);
  return whole!.slice(
    0,
    Math.max(
      0,
      whole!.findIndex((_, at) => ids!.every((id, i) => whole![at + i] === id)),
    ),
  );
}

async function createEngine(options: {
  readonly file: string;
  readonly definition: JsonObject;
  readonly config: JsonObject;
}): Promise<Engine> {
  const { file, definition, config } = options;
  const { Tokenizer: HuggingFaceTokenizer } = await import("@huggingface/tokenizers");
  if (!isJsonObject(definition.model)) throw malformedFile({ file, reason: 'it has no object "model"' });
  const { type = "BPE" } = definition.model;
  if (!modelTypes.has(type)) {
    throw new LyceumError({
      code: "model.unsupported",
      message: `${file} has the unknown model type ${JSON.stringify(type)}.`,
      hint: `Known types: ${[...modelTypes].join(", ")}.`,
    });
  }
  checkTokenizer({ file, definition });
  const absent = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [] };
  try {
    const pre_tokenizer = correctPreTokenizer(definition);
    const engine: Engine = new HuggingFaceTokenizer({ ...absent, ...definition, pre_tokenizer }, config);
    correctDecoder(engine.decoder);
    engine.encode("probe", { add_special_tokens: false });
    return engine;
  } catch (error) {
    throw malformedFile({ file, reason: error instanceof Error ? error.message : String(error), cause: error });
  }
}

function wrapEngine(
  engine: Engine,
  names: Pick<Tokenizer, "startIds"> & Readonly<Record<"bosToken" | "eosToken" | "padToken", string | undefined>>,
): Tokenizer {
  let largest = -1;
  for (const id of engine.get_vocab().values()) largest = Math.max(largest, id);
  const added = [...engine.get_added_tokens_decoder().values()];
  const contents = (isSpecial: boolean): string[] =>
    added.filter((token) => token.special === isSpecial).map((token) => token.content);
  return {
    vocabularySize: largest + 1,
    encode: (text) => engine.encode(text, { add_special_tokens: false }).ids,
    encodeMarked: (text, marks) => encodeMarked(engine, text, marks),
    decode: (ids) => {
      const known = ids.filter((id) => engine.id_to_token(id) !== undefined);
      return known.length === 0 ? "" : engine.decode(known, { clean_up_tokenization_spaces: false });
    },
    tokenId: (token) => engine.token_to_id(token),
    specialTokens: contents(true),
    addedTokens: contents(false),
    normalize: normalizerOf(engine),
    startIds: names.startIds,
    bosToken: names.bosToken,
    eosToken: names.eosToken,
    padToken: names.padToken,
  };
}

/** Returns a special token by its role. Configs store it as a string or as an object with `content`. */
function tokenNamed(name: string, ...sources: readonly JsonObject[]): string | undefined {
  for (const source of sources) {
    const value = source[name];
    if (typeof value === "string") return value;
    if (isJsonObject(value) && typeof value.content === "string") return value.content;
  }
  return undefined;
}
