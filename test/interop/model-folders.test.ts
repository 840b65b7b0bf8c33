import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { openWeights } from "../../trainers/model-folders/weights/safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "../../trainers/model-folders/weights/safetensors-writer.ts";
import { tinyVocabularySize } from "./checkpoints.ts";
import { largestDifference, logitTolerance } from "./compare.ts";
import { forwardReference, temporaryFolder } from "./reference.ts";
import { randomIds } from "./sequences.ts";

const { checkpoints } = inject("interop");
const source = join(checkpoints, "llama-llama3-rope");
const ids = randomIds({ lengths: [1, 90], vocabularySize: tinyVocabularySize, seed: 31 });
const embedding = "model.embed_tokens.weight";
const head = "lm_head.weight";
const llama3 = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 };

/** Folders with contradictory, double or missing parts: [changes of config.json, change of the tensors]. */
const forms: Readonly<Record<string, readonly [object, ((tensors: TensorToWrite[]) => TensorToWrite[])?]>> = {
  "tied by the config, with another head": [{ tie_word_embeddings: true }],
  "tied, with only the head": [{ tie_word_embeddings: true }, (all) => all.filter(({ name }) => name !== embedding)],
  "tied, with only the embedding": [{ tie_word_embeddings: true }, (all) => all.filter(({ name }) => name !== head)],
  "two rope settings": [{ rope_scaling: { rope_type: "linear", factor: 4 } }],
  "an old type key": [{ rope_parameters: undefined, rope_scaling: { type: "linear", factor: 3 }, rope_theta: 5_000 }],
  "an empty rope_scaling": [{ rope_scaling: {} }],
  "no original context": [{ rope_parameters: { ...llama3, rope_theta: 700 } }],
  "an original context outside": [{ rope_parameters: llama3, original_max_position_embeddings: 16 }],
  "a key that nothing reads": [{ final_logit_softcapping: 3 }],
  "tensors that nothing reads": [
    {},
    (all) => [
      ...all,
      { name: "model.layers.0.self_attn.q_proj.bias", shape: [1], data: Float32Array.of(5) },
      { name: "model.layers.0.self_attn.rotary_emb.inv_freq", shape: [1], data: Float32Array.of(5) },
    ],
  ],
};

test("folders of odd forms have the logits of transformers", async () => {
  await using folder = await temporaryFolder();
  await using weights = await openWeights(source);
  const tensors = await Promise.all(
    weights.names.map(async (name) => ({ name, shape: weights.info(name).shape, data: await weights.read(name) })),
  );
  const config = JSON.parse(await readFile(join(source, "config.json"), "utf8"));
  const checkpoint = (index: number): string => join(folder.path, `form-${index}`);
  for (const [index, [change, changeTensors = (all: TensorToWrite[]) => all]] of Object.values(forms).entries()) {
    await cp(source, checkpoint(index), { recursive: true });
    await writeFile(join(checkpoint(index), "config.json"), JSON.stringify({ ...config, ...change }));
    await writeSafetensors(join(checkpoint(index), "model.safetensors"), changeTensors(tensors));
  }
  const names = Object.keys(forms);
  const references = await forwardReference(names.map((_, index) => ({ checkpoint: checkpoint(index), ids })));
  const backend = await createOnnxBackend({ device: "cpu" });
  const differences: Record<string, number> = {};
  for (const [index, name] of names.entries()) {
    const model = await backend.openModel({
      source: { type: "pretrained", path: checkpoint(index) },
      trainable: { type: "frozen" },
    });
    const each = [];
    for (const [i, sequence] of ids.entries())
      each.push(largestDifference(await readLogits(model, sequence), references[index]!.logits[i]!));
    differences[name] = Math.max(...each);
  }
  await backend.close();
  expect(Object.entries(differences).filter(([, difference]) => !(difference <= logitTolerance))).toEqual([]);
});
