import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { createRandom } from "../../src/random/random.ts";
import { loadTokenizer } from "../../src/tokens/huggingface-tokenizer.ts";
import { tokenizerKinds } from "./checkpoints.ts";
import { runPython } from "./python.ts";
import { makeTexts } from "./texts.ts";

const { environment, tokenizers, smollm2, quick } = inject("interop");
const folders: Readonly<Record<string, string>> = { ...tokenizers, "smollm2-135m-instruct": smollm2 };

interface Tokenized {
  readonly encoded: readonly (readonly number[])[];
  readonly decodedTexts: readonly string[];
  readonly decodedIds: readonly string[];
}

const byteFallback = new Set<string>(["sentencepiece", "metaspace"]);

/** A thousand generated texts (200 in the quick run), and lines of GSM8K where the data is at hand. */
const texts = [...makeTexts({ count: quick ? 200 : 1_000, seed: 7 }), ...questions(quick ? 20 : 200)];

describe.each([...tokenizerKinds, "smollm2-135m-instruct"] as const)("the %s tokenizer", (kind) => {
  test("gives the ids and the texts that transformers gives", async ({ signal }) => {
    const folder = folders[kind]!;
    const tokenizer = await loadTokenizer(folder);
    const random = createRandom(11);
    const ids = Array.from({ length: quick ? 100 : 500 }, () =>
      Array.from({ length: random.integer(1, 12) }, () => random.integer(0, tokenizer.vocabularySize - 1)),
    );
    const theirs = await runPython<Tokenized>({
      environment,
      script: "tokenize_texts",
      request: { tokenizer: folder, texts, ids },
      signal,
    });
    const disagreements: string[] = [];
    for (const [index, text] of texts.entries()) {
      const expected = theirs.encoded[index]!;
      const actual = tokenizer.encode(text);
      if (actual.join() !== expected.join()) disagreements.push(JSON.stringify({ text, actual, expected }));
      const decoded = tokenizer.decode(expected);
      if (decoded !== theirs.decodedTexts[index]) {
        disagreements.push(JSON.stringify({ ids: expected, actual: decoded, expected: theirs.decodedTexts[index] }));
      }
    }
    for (const [index, list] of ids.entries()) {
      // Of broken UTF-8 in byte tokens, transformers loses the whole characters beside it too; Lyceum does not.
      if (byteFallback.has(kind) && theirs.decodedIds[index]!.includes("\ufffd")) continue;
      const decoded = tokenizer.decode(list);
      if (decoded !== theirs.decodedIds[index]) {
        disagreements.push(JSON.stringify({ ids: list, actual: decoded, expected: theirs.decodedIds[index] }));
      }
    }
    expect({ count: disagreements.length, first: disagreements.slice(0, 5) }).toEqual({ count: 0, first: [] });
  });
});

/** The first questions of GSM8K, or none where the data folder is missing: they add to the generated texts. */
function questions(count: number): string[] {
  const folder = process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../shared/data");
  try {
    const lines = readFileSync(join(folder, "gsm8k-test.jsonl"), "utf8").split("\n").slice(0, count);
    return lines.flatMap((line) => Object.values(JSON.parse(line) as Record<string, string>));
  } catch {
    return [];
  }
}
