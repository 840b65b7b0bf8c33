import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { malformedFile } from "./model-file.ts";

/** Far more ids than any published vocabulary has. A tokenizer's tables have a place for every id up to the largest. */
const mostIds = 10_000_000;

/**
 * Throws `model.malformed` for a `tokenizer.json` with invalid ids or merges. Ids must be non-negative integers, unique
 * for each token. A merge must consist of two tokens that form a third.
 */
export function checkTokenizer({ file, definition }: { readonly file: string; readonly definition: JsonObject }): void {
  const fail = (reason: string): Error => malformedFile({ file, reason });
  const model = definition.model as JsonObject;
  const tokens = new Map<number, string>();
  const ids = new Map<string, number>();
  const add = (token: string, id: unknown): void => {
    const shown = JSON.stringify(token);
    if (!Number.isInteger(id) || Number(id) < 0) throw fail(`the id of token ${shown} is ${JSON.stringify(id)}`);
    if (Number(id) >= mostIds) throw fail(`the id of token ${shown} is ${id}, but ids must be below ${mostIds}`);
    const other = tokens.get(Number(id)) ?? token;
    if (other !== token) throw fail(`the tokens ${JSON.stringify(other)} and ${shown} have the same id, ${id}`);
    tokens.set(Number(id), token);
    ids.set(token, Number(id));
  };
  for (const [token, id] of vocabularyOf(model, fail)) add(token, id);
  checkMerges(model, { ids, fail });
  const added = definition.added_tokens ?? [];
  if (!Array.isArray(added)) throw fail("added_tokens is not a list");
  for (const token of added) {
    if (!isJsonObject(token) || typeof token.content !== "string") throw fail("an added token has no content");
    const known = ids.get(token.content) ?? token.id;
    if (known !== token.id) {
      throw fail(`the token ${JSON.stringify(token.content)} has the ids ${known} and ${JSON.stringify(token.id)}`);
    }
    add(token.content, token.id);
  }
}

type Fail = (reason: string) => Error;

/**
 * Returns the tokens with their ids. The vocabulary is an object, or a list of tokens and scores in the order of ids.
 */
function vocabularyOf({ vocab }: JsonObject, fail: Fail): Iterable<readonly [string, unknown]> {
  if (isJsonObject(vocab)) return Object.entries(vocab);
  if (!Array.isArray(vocab)) throw fail("its model has no vocabulary");
  return vocab.map((entry: unknown, id) => {
    if (!Array.isArray(entry) || typeof entry[0] !== "string" || typeof entry[1] !== "number") {
      throw fail(`entry ${id} of its vocabulary is not a token and a score`);
    }
    return [entry[0], id] as const;
  });
}

function checkMerges(
  model: JsonObject,
  { ids, fail }: { readonly ids: ReadonlyMap<string, number>; readonly fail: Fail },
): void {
  const { merges = [], continuing_subword_prefix: prefix } = model;
  if (!Array.isArray(merges)) throw fail("its merges are not a list");
  const cut = typeof prefix === "string" ? prefix.length : 0;
  for (const [place, merge] of merges.entries()) {
    if (typeof merge === "string" && merge.startsWith("#version")) continue;
    const pair: unknown = typeof merge === "string" ? merge.split(" ") : merge;
    if (!Array.isArray(pair) || pair.length !== 2 || !pair.every((token) => typeof token === "string")) {
      throw fail(`merge ${place} is not two tokens: ${(JSON.stringify(merge) ?? "").slice(0, 100)}`);
    }
    const [first, second] = pair as [string, string];
    const unknown = [first, second, first + second.slice(cut)].find((token) => !ids.has(token));
    if (unknown === undefined) continue;
    throw fail(
      `merge ${place}, of ${JSON.stringify(first)} and ${JSON.stringify(second)}, needs the token ${JSON.stringify(unknown)}, which is not in the vocabulary`,
    );
  }
}
