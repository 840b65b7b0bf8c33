import { afterEach, expect, it, vi } from "vitest";
import { runConfigSchema } from "../../cli/run-config.ts";
import { checkTrainingMemory } from "../../cli/training-memory.ts";
import { environments } from "../../environments/index.ts";
import { loadConfig } from "../../src/core/config/index.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";
import { createAlgorithm } from "../../trainers/training/resolve-config.ts";

const schema = runConfigSchema({ environments: environments.list(), algorithms: algorithms.list() });

afterEach(() => vi.restoreAllMocks());

/** Checks a training of a model of 100 million parameters on a machine with these bytes. */
async function check(memory: number, more = "backend: { type: onnx }") {
  vi.spyOn(process, "constrainedMemory").mockReturnValue(memory);
  const model = "{ scratch: { hiddenSize: 768, layers: 12, heads: 12, intermediateSize: 3072 }, device: cpu }";
  const algorithmKey = more.startsWith("algorithm") ? "" : "algorithm: { id: grpo, groupSize: 4 }\n";
  const text = `environment: { id: math }\n${algorithmKey}model: ${model}\ntraining: { batchSize: 2 }\n${more}`;
  const config = await loadConfig({ text, name: "run.yaml", schema });
  const algorithm = createAlgorithm(config, algorithms.list());
  return checkTrainingMemory(config, { algorithm, agents: 1, signal: new AbortController().signal });
}

it("refuses a training that needs more memory than there is, and names what makes it fit", async () => {
  const error = await check(2.1e9).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "backend.unsupported",
    message: expect.stringMatching(/needs \d\.\d\d GB or more, but the machine has 2\.1 GB/),
    hint: expect.stringContaining("--set model.adapter.type=lora"),
    data: { memory: 2.1e9 },
  });
  const { needed } = (error as { data: { needed: number } }).data;
  // Weights, gradient and moments.
  expect(needed).toBeGreaterThan(4 * 4 * 80e6);
  await expect(check(needed - 1)).rejects.toMatchObject({ data: { needed } });
  await check(needed);
});

it("counts what a training needs in any case: not the longest answers", async () => {
  const error = await check(2.1e9).catch((thrown: unknown) => thrown);
  const { needed } = (error as { data: { needed: number } }).data;
  for (const more of ["sampling: { maxTokens: 32768 }", "algorithm: { id: sft }"]) await check(needed, more);
});

it("leaves other backends, and models that cannot be read, to the training", async () => {
  await check(1e9, "backend: { type: torch }");
  const model = "agents: { models: { agent: { path: nowhere } } }";
  await check(1e9, model);
});
