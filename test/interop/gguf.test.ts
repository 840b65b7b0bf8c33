import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { blockTypes } from "../../trainers/model-folders/gguf/gguf-blocks.ts";
import { ggufFolder } from "../../trainers/model-folders/gguf/gguf-folder.ts";
import { openWeights } from "../../trainers/model-folders/weights/safetensors.ts";
import { type TinyCheckpoint, tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logitTolerance } from "./compare.ts";
import { execute } from "./execute.ts";
import { runPython } from "./python.ts";
import { pythonOf } from "./python-environment.ts";
import { forwardReference, temporaryFolder } from "./reference.ts";
import { randomIds } from "./sequences.ts";
import { makeTexts } from "./texts.ts";

const { environment, checkpoints, smollm2, quick } = inject("interop");
const pre: Readonly<Record<TinyCheckpoint["tokenizer"], string | null>> = {
  smollm: "smollm",
  llama3: "llama-bpe",
  qwen: "qwen2",
  sentencepiece: null,
  metaspace: null,
};
/** Gemma 3 is not read from GGUF files. */
const wanted = tinyCheckpoints(quick).filter(({ config }) => config.model_type !== "gemma3_text");
/** What a GGUF file cannot say: which layers have no positions or a window, and GPT-2's activation. */
const unsaid = [
  "smollm3-no-rope-layers",
  "qwen2-window-in-late-layers",
  "mistral-window",
  "gpt2-untied-exact-gelu-sharded-f16",
];
const texts = makeTexts({ count: quick ? 200 : 1_000, seed: 17 });
const random = createRandom(5);
const blocks = [...blockTypes.values()].map((type) => ({
  type,
  bytes: Uint8Array.from({ length: type.bytes * 300 }, () => random.integer(0, 255)),
}));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let decoded: readonly string[];
let realFile: string;

const originalOf = (name: string): string => join(checkpoints, name);
const fileOf = (name: string): string => join(folder.path, `${name}.gguf`);

beforeAll(async () => {
  folder = await temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", join(folder.path, "cache"));
  const response = await runPython<{ blocks: string[]; smollm2: string }>({
    environment,
    script: "write_gguf",
    request: {
      files: wanted.map(({ name, tokenizer }) => ({
        checkpoint: originalOf(name),
        file: fileOf(name),
        pre: pre[tokenizer],
      })),
      blocks: blocks.map(({ type, bytes }) => ({ type: type.name, bytes: Buffer.from(bytes).toString("base64") })),
    },
  });
  decoded = response.blocks;
  realFile = response.smollm2;
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await folder?.[Symbol.asyncDispose]();
});

test.each(blocks.map(({ type }, index) => ({ name: type.name, index })))("random blocks of $name have gguf's values", ({
  index,
}) => {
  const { type, bytes: given } = blocks[index]!;
  const { values, bytes, decode } = type;
  const found = new Float32Array((given.length / bytes) * values);
  decode(given, found);
  const expected = new Float32Array(Uint8Array.from(Buffer.from(decoded[index]!, "base64")).buffer);
  // The bits of a NaN are nobody's business. Those of every other value are, with the sign of zero.
  const wrong = [...found].flatMap((value, i) => (Object.is(value, expected[i]) ? [] : [[i, value, expected[i]]]));
  expect({ length: found.length, wrong: wrong.slice(0, 5) }).toEqual({ length: expected.length, wrong: [] });
});

describe.each(wanted.map(({ name }) => name))("the GGUF file of %s", (name) => {
  test("has the tensors of the checkpoint, bit for bit", async () => {
    await expectSameTensors(await ggufFolder(fileOf(name)), originalOf(name));
  });

  test("has the token ids of the checkpoint's tokenizer", async () => {
    const tokenizer = await loadTokenizer(await ggufFolder(fileOf(name)));
    const original = await loadTokenizer(originalOf(name));
    // The suite of tokenizers compares the original with transformers. The form "metaspace" puts no space before a text
    // that begins with one or follows a special token. A file does not say that it has this form.
    const metaspace = wanted.find((checkpoint) => checkpoint.name === name)!.tokenizer === "metaspace";
    const compared = metaspace ? texts.filter((text) => !/^[\s▁]|</.test(text)) : texts;
    const wrong = compared.filter((text) => tokenizer.encode(text).join() !== original.encode(text).join());
    expect({ count: wrong.length, first: wrong.slice(0, 3) }).toEqual({ count: 0, first: [] });
    expect([
      tokenizer.startIds,
      tokenizer.bosToken,
      tokenizer.eosToken,
      tokenizer.specialTokens,
      tokenizer.addedTokens,
    ]).toEqual([original.startIds, original.bosToken, original.eosToken, original.specialTokens, original.addedTokens]);
  });
});

test("the GGUF files have the logits of the checkpoints in transformers", async () => {
  const ids = randomIds({ lengths: [1, 90], vocabularySize: tinyVocabularySize, seed: 37 });
  const names = wanted.map(({ name }) => name).filter((name) => !unsaid.includes(name));
  const references = await forwardReference(names.map((name) => ({ checkpoint: originalOf(name), ids })));
  const backend = await createOnnxBackend({ device: "cpu" });
  const differences: Record<string, number> = {};
  for (const [index, name] of names.entries()) {
    const source = { type: "pretrained", path: fileOf(name) } as const;
    const model = await backend.openModel({ source, trainable: { type: "frozen" } });
    const each: number[] = [];
    for (const [i, sequence] of ids.entries()) {
      each.push(largestDifference(await readLogits(model, sequence), references[index]!.logits[i]!));
    }
    differences[name] = Math.max(...each);
    await model.close();
  }
  await backend.close();
  expect(Object.entries(differences).filter(([, difference]) => !(difference <= logitTolerance))).toEqual([]);
});

test.skipIf(quick)("the quantised file of SmolLM2 has gguf's tensors and SmolLM2's token ids", async () => {
  const converted = join(folder.path, "smollm2");
  const script = join(import.meta.dirname, "python", "convert_gguf.py");
  await execute(pythonOf(environment), [script, converted, "--dtype", "float32"], { timeoutMs: 300_000 });
  const found = await ggufFolder(realFile);
  await expectSameTensors(found, converted);
  const [tokenizer, original] = [await loadTokenizer(found), await loadTokenizer(smollm2)];
  expect(texts.filter((text) => tokenizer.encode(text).join() !== original.encode(text).join())).toEqual([]);
});

async function expectSameTensors(found: string, expected: string): Promise<void> {
  await using ours = await openWeights(found);
  await using theirs = await openWeights(expected);
  expect(ours.names).toEqual(theirs.names);
  for (const name of ours.names) {
    expect(ours.info(name).shape, name).toEqual(theirs.info(name).shape);
    expect(Buffer.compare(bytesOf(await ours.read(name)), bytesOf(await theirs.read(name))), name).toBe(0);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
