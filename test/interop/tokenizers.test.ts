import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import type { Tokenizer } from "../../src/core/tokens/tokenizer.ts";
import { tokenizerKinds } from "./checkpoints.ts";
import { runPython } from "./python.ts";
import { makeTexts } from "./texts.ts";

const { environment, tokenizers, smollm2, quick } = inject("interop");
const folders: Readonly<Record<string, string>> = { ...tokenizers, "smollm2-135m-instruct": smollm2 };
const kinds = [...tokenizerKinds, "smollm2-135m-instruct"];
const byteFallback = new Set(["sentencepiece", "metaspace"]);

/** A thousand generated texts (200 in the quick run), and lines of GSM8K if the data exists. */
const texts = [...makeTexts({ count: quick ? 200 : 1_000, seed: 7 }), ...questions(quick ? 20 : 200)];

interface Case {
  readonly tokenizer: Tokenizer;
  /** Lists of ids that are not the encoding of a text. */
  readonly ids: readonly number[][];
  readonly theirs: {
    readonly encoded: readonly (readonly number[])[];
    readonly decodedTexts: readonly string[];
    readonly decodedIds: readonly string[];
  };
}

let cases: Map<string, Case>;

beforeAll(async () => {
  const random = createRandom(11);
  const loaded = await Promise.all(kinds.map((kind) => loadTokenizer(folders[kind]!)));
  const idLists = loaded.map(({ vocabularySize }) =>
    Array.from({ length: quick ? 100 : 500 }, () =>
      Array.from({ length: random.integer(1, 12) }, () => random.integer(0, vocabularySize - 1)),
    ),
  );
  const jobs = kinds.map((kind, index) => ({ tokenizer: folders[kind]!, ids: idLists[index]! }));
  const { jobs: results } = await runPython<{ jobs: Case["theirs"][] }>({
    environment,
    script: "tokenize_texts",
    request: { jobs, texts },
  });
  cases = new Map(
    kinds.map((kind, index) => [kind, { tokenizer: loaded[index]!, ids: idLists[index]!, theirs: results[index]! }]),
  );
});

describe.each(kinds)("the %s tokenizer", (kind) => {
  test("gives the ids of transformers", () => {
    const { tokenizer, theirs } = cases.get(kind)!;
    const wrong = texts.flatMap((text, index) => {
      const expected = theirs.encoded[index]!;
      const actual = tokenizer.encode(text);
      return actual.join() === expected.join() ? [] : [JSON.stringify({ text, actual, expected })];
    });
    expectNone(wrong);
  });

  test("decodes to the texts of transformers", () => {
    const { tokenizer, ids, theirs } = cases.get(kind)!;
    const lists = [...theirs.encoded, ...ids];
    const expectedTexts = [...theirs.decodedTexts, ...theirs.decodedIds];
    const wrong = lists.flatMap((list, index) => {
      const expected = expectedTexts[index]!;
      // For broken UTF-8 in byte tokens, transformers also loses neighbouring whole characters. Lyceum does not.
      if (byteFallback.has(kind) && expected.includes("\ufffd")) return [];
      const actual = tokenizer.decode(list);
      return actual === expected ? [] : [JSON.stringify({ ids: list, actual, expected })];
    });
    expectNone(wrong);
  });
});

/** Fails with the number of disagreements and the first few. */
function expectNone(disagreements: readonly string[]): void {
  expect({ count: disagreements.length, first: disagreements.slice(0, 5) }).toEqual({ count: 0, first: [] });
}

/** Questions and answers of GSM8K, in addition to the generated texts. None if the data folder is missing. */
function questions(count: number): string[] {
  const folder = process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../shared/data");
  const file = join(folder, "gsm8k-test.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, count);
  return lines.flatMap((line) => Object.values(JSON.parse(line) as Record<string, string>));
}
