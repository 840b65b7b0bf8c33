import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ModelConfigInput } from "../../trainers/config/model-config.ts";
import { resolveConfig } from "../../trainers/training/resolve-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";

const lora = { type: "lora" } as const;
const rateOf = async (model: ModelConfigInput, id: string): Promise<number> => {
  return (await resolveConfig({ algorithm: { id }, model })).training.learningRate;
};

/** Creates a folder with these files. */
async function folderWith(files: Readonly<Record<string, object>>): Promise<string> {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), JSON.stringify(content));
  }
  return folder;
}

describe("the default learning rate", () => {
  it.each<[string, ModelConfigInput, readonly [sft: number, dpo: number, grpo: number]]>([
    ["from scratch", { scratch: {} }, [1e-3, 1e-4, 3e-4]],
    ["of adapters on a model from scratch", { scratch: {}, adapter: lora }, [1e-3, 1e-4, 3e-4]],
    ["of every weight", { path: "owner/name" }, [2e-5, 1e-6, 1e-6]],
    ["of LoRA", { path: "owner/name", adapter: lora }, [2e-4, 1e-5, 1e-4]],
  ])("%s", async (_, model, [sft, dpo, grpo]) => {
    expect(await rateOf(model, "sft")).toBe(sft);
    for (const id of ["dpo", "madpo"]) expect(await rateOf(model, id)).toBe(dpo);
    for (const id of ["grpo", "ppo", "iac", "magrpo", "reinforce"]) expect(await rateOf(model, id)).toBe(grpo);
  });

  it("is that of a model from scratch if an earlier run trained the model from scratch", async () => {
    const bytes = { vocab_size: 263 };
    const exported = await folderWith({ "config.json": bytes });
    const run = await folderWith({ "metrics.jsonl": {}, "model/config.json": bytes });
    const team = await folderWith({ "a/config.json": bytes, "b/config.json": bytes });
    const adapter = await folderWith({ "adapter_config.json": {}, "base/config.json": bytes });
    for (const path of [exported, run, team, adapter]) expect(await rateOf({ path, adapter: lora }, "grpo")).toBe(3e-4);
    const broken = await folderWith({ "manifest.json": {} });
    expect(await rateOf({ path: broken, adapter: lora }, "grpo")).toBe(1e-4);
    const pretrained = await folderWith({ "config.json": { vocab_size: 49_152 } });
    expect(await rateOf({ path: pretrained, adapter: lora }, "grpo")).toBe(1e-4);
  });
});

describe("a run without a learning rate", () => {
  const config = letterConfig({ algorithm: { id: "sft" }, training: { steps: 2 } });
  const { learningRate: _, ...training } = config.training!;
  const plain = { ...config, training };

  it("reports its learning rate and what it is the default of", async () => {
    const run = await runTraining({ output: temporaryFolder(), config: plain });
    expect(eventsOf(run, "run-start")[0]!.learningRate).toEqual({
      value: 1e-3,
      defaultOf: "a model from scratch, from demonstrations",
    });
    expect(eventsOf(run, "step")[0]!.metrics["optimizer/learning-rate"]).toBe(1e-3);
    const given = await runTraining({ output: temporaryFolder(), config });
    expect(eventsOf(given, "run-start")[0]!.learningRate).toEqual({ value: 0.6 });
  });

  it("keeps its learning rate on resume", async () => {
    const output = temporaryFolder();
    await runTraining({ output, config: { ...plain, training: { ...training, learningRate: 1e-5 } } });
    const resumed = await runTraining({
      output,
      config: { ...plain, training: { ...training, steps: 3 } },
      resume: true,
    });
    expect(resumed.error).toBeUndefined();
    expect(eventsOf(resumed, "step").map(({ metrics }) => metrics["optimizer/learning-rate"])).toEqual([1e-5]);
  });
});
