import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { malformedFile } from "./model-file.ts";

/** The roles of special tokens in `tokenizer_config.json`. */
const roles = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"] as const;

/** A token that a folder's files add to its `tokenizer.json`. `id` is the declared one, if any. */
interface WantedToken {
  readonly id: number | undefined;
  readonly token: JsonObject & { readonly content: string };
}

/**
 * Returns the content of a `tokenizer.json` with the tokens that only the other files of its folder have, as
 * `transformers` adds them: first those of `added_tokens_decoder` (or else of `added_tokens.json`) by id, then the
 * special tokens by role, then further special tokens. A token of the vocabulary keeps its id, and any other gets the
 * next free id. If both files describe a token, `added_tokens_decoder` decides what it matches. Throws
 * `model.malformed` if a file declares another id for it, and `model.unsupported` for a token that only matches whole
 * words.
 */
export function withConfigTokens(options: {
  readonly file: string;
  readonly definition: JsonObject;
  readonly config: JsonObject;
  readonly specialTokensMap: JsonObject;
  readonly addedTokens: JsonObject;
}): JsonObject {
  const { file, definition } = options;
  const wantedOnes = wantedTokens(options);
  const described = new Map(wantedOnes.filter(({ id }) => id !== undefined).map(({ token }) => [token.content, token]));
  const listed = Array.isArray(definition.added_tokens) ? definition.added_tokens.filter(isJsonObject) : [];
  const added = listed.map((token): JsonObject => {
    const flags: JsonObject = described.get(String(token.content)) ?? {};
    return { ...token, ...flags, special: token.special === true || flags.special === true };
  });
  const known = new Set(added.map(({ content }) => content));
  const vocabulary = vocabularyOf(definition.model);
  let next = Math.max(vocabulary.size, ...added.map(({ id }) => (typeof id === "number" ? id + 1 : 0)));
  const more: JsonObject[] = [];
  for (const { id: declared, token } of wantedOnes) {
    if (known.has(token.content)) continue;
    known.add(token.content);
    const id = vocabulary.get(token.content) ?? next;
    if (declared !== undefined && declared !== id) {
      const reason = `the token ${JSON.stringify(token.content)} has the id ${declared} in another file of the folder, but its place in the vocabulary is ${id}`;
      throw malformedFile({ file, reason });
    }
    more.push({ ...token, id });
    if (id === next) next += 1;
  }
  const all = [...added, ...more];
  const wholeWord = all.find(({ single_word: isWord }) => isWord === true);
  if (wholeWord !== undefined) {
    throw new LyceumError({
      code: "model.unsupported",
      message: `${file}: the added token ${JSON.stringify(wholeWord.content)} matches whole words only (single_word), which is not supported.`,
      hint: "Choose another tokenizer, or set single_word to false if the model was trained so.",
    });
  }
  return { ...definition, added_tokens: all };
}

function wantedTokens(options: Omit<Parameters<typeof withConfigTokens>[0], "definition">): WantedToken[] {
  const { config, specialTokensMap, addedTokens } = options;
  const decoder = isJsonObject(config.added_tokens_decoder) ? config.added_tokens_decoder : undefined;
  const sources = decoder === undefined ? [config, specialTokensMap] : [config];
  const special = [
    ...roles.map((role) => sources.map((source) => source[role]).find((value) => contentOf(value) !== undefined)),
    ...sources.flatMap((source) => listOf(source.extra_special_tokens ?? source.additional_special_tokens)),
  ].flatMap((value) => wanted(value, { special: true, normalized: false }));
  const specialContents = new Set(special.map(({ token }) => token.content));
  const declared =
    decoder === undefined
      ? Object.entries(addedTokens).flatMap(([content, id]) => {
          const isSpecial = specialContents.has(content);
          return wanted(content, { special: isSpecial, normalized: !isSpecial }, id);
        })
      : Object.entries(decoder).flatMap(([id, value]) => wanted(value, {}, Number(id)));
  return [...declared.toSorted((a, b) => a.id! - b.id!), ...special];
}

function wanted(value: unknown, flags: JsonObject, id?: unknown): WantedToken[] {
  const content = contentOf(value);
  if (content === undefined || content === "") return [];
  const given = isJsonObject(value) ? value : {};
  const special = given.special === true || flags.special === true;
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: !special, special };
  return [{ id: typeof id === "number" ? id : undefined, token: { ...plain, ...given, ...flags, content } }];
}

function contentOf(value: unknown): string | undefined {
  const content = isJsonObject(value) ? value.content : value;
  return typeof content === "string" ? content : undefined;
}

/** Further special tokens are a list, or an object by name. */
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function vocabularyOf(model: unknown): ReadonlyMap<unknown, number> {
  const vocab = isJsonObject(model) ? model.vocab : undefined;
  if (Array.isArray(vocab)) return new Map(vocab.map((entry, id) => [Array.isArray(entry) ? entry[0] : undefined, id]));
  return new Map(
    Object.entries(isJsonObject(vocab) ? vocab : {}).filter((entry): entry is [string, number] =>
      Number.isInteger(entry[1]),
    ),
  );
}
