import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { sampleOf } from "../tier.ts";
import { runTraining } from "./run-training.ts";

/** Returns the exported adapter of a short run, as bytes, and its config. */
async function adapterOf(
  id: string,
  dropout: number | undefined,
): Promise<{ readonly weights: string; readonly config: unknown }> {
  await using backend = await sharedEngine();
  const output = temporaryFolder();
  const { error } = await runTraining({
    output,
    backend,
    config: {
      algorithm: id === "sft" ? { id } : { id, groupSize: 4 },
      model: {
        scratch: { hiddenSize: 32, layers: 1, heads: 2, maxLength: 64 },
        adapter: { type: "lora", rank: 2, ...(dropout === undefined ? {} : { dropout }) },
      },
      sampling: { maxTokens: 2 },
      training: { steps: 3, batchSize: 8, learningRate: 1e-2, sampleEvery: 0 },
    },
  });
  if (error !== undefined) throw error;
  const read = (name: string): Promise<Buffer> => readFile(join(output, "model", name));
  const weights = (await read("adapter_model.safetensors")).toString("base64");
  return { weights, config: JSON.parse((await read("adapter_config.json")).toString()) };
}

const sampled = ["grpo", "reinforce", "dpo"].map((id) => ({ id, active: false }));
it.each([
  { id: "sft", active: true },
  ...sampleOf(sampled, 3),
])("dropout of an adapter changes what $id learns: $active", async ({ id, active }) => {
  const [without, none, half] = [await adapterOf(id, undefined), await adapterOf(id, 0), await adapterOf(id, 0.5)];
  expect(none.weights).toBe(without.weights);
  expect(half.weights !== without.weights).toBe(active);
  expect(half.config).toMatchObject({ lora_dropout: 0.5 });
});
