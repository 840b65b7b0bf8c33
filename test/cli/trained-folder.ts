import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyModel } from "../tiny-model.ts";
import { runInProcess } from "./run-in-process.ts";

const source = (name: string): string => JSON.stringify(join(import.meta.dirname, "../../src", name));

/** Two agents who each learn their own answer, and one who learns another. */
const environments = {
  "pair.ts": `
import { defineParallelEnvironment } from ${source("core/environment/define-parallel-environment.ts")};
export const environment = defineParallelEnvironment({
  id: "pair", agents: ["aux", "main"], maxTurns: 1, tasks: ["one", "two", "three"], splits: ["train", "test"],
  reset: ({ task }) => ({ aux: task, main: task }),
  step: ({ texts }) => ({ rewards: Object.fromEntries(Object.entries({ aux: "x", main: "m" }).map(([agent, right]) => {
    const value = texts[agent] === right ? 1 : 0;
    return [agent, { status: "scored", value, components: { right: value } }];
  })) }),
  demonstrate: () => [{ aux: "x", main: "m" }],
});
`,
  "one.ts": `
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
export const environment = defineEnvironment({
  id: "one", maxTurns: 1, tasks: ["one", "two", "three"], splits: ["train", "test"],
  reset: ({ task }) => task,
  step: ({ text }) => ({ components: { right: text === "s" ? 1 : 0 } }),
  demonstrate: () => ["s"],
});
`,
};

const adapter = "adapter: { type: lora, rank: 8 }";
const training = (environment: string, model: string): string => `seed: 1
environment: ./${environment}.ts
model: { ${model}, device: cpu, threads: 1 }
algorithm: sft
preflight: false
sampling: { maxTokens: 2 }
training: { steps: 60, batchSize: 3, learningRate: 0.02, sampleEvery: 0 }
checkpoint: { every: 60 }
`;

/**
 * Creates a folder with `one.ts` and `pair.ts`, environments of one agent and of two (`aux` and `main`), and trained
 * models: `runs/base`, a full model without training; `runs/lora`, an adapter on it; `runs/team`, an adapter for each
 * agent on a base from scratch; and `peft`, a copy of `runs/lora/model` in peft's format.
 */
export async function trainedFolder({ maxLength = 64 }: { readonly maxLength?: number } = {}): Promise<string> {
  const scratch = `scratch: ${JSON.stringify(tinyModel(maxLength).scratch)}`;
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(environments)) await writeFile(join(folder, name), text);
  const run = async (name: string, config: string, ...more: readonly string[]): Promise<void> => {
    await writeFile(join(folder, `${name}.yaml`), config);
    const words = ["train", "-c", `${name}.yaml`, "-o", `runs/${name}`, ...more];
    const { code, stderr } = await runInProcess(words, { folder });
    if (code !== 0) throw new Error(stderr);
  };
  const nothing = ["--set", "training.steps=1", "--set", "training.learningRate=1e-9"];
  await run("base", training("one", scratch), ...nothing);
  await run("lora", training("one", `path: runs/base/model, ${adapter}`));
  await run("team", training("pair", `${scratch}, ${adapter}`));

  const peft = join(folder, "peft");
  await cp(join(folder, "runs/lora/model"), peft, { recursive: true });
  await rm(join(peft, "base_model.json"));
  await rm(join(peft, "lyceum_checksums.json"));
  const file = join(peft, "adapter_config.json");
  const config = JSON.parse(await readFile(file, "utf8")) as object;
  const own = { base_model_name_or_path: join(folder, "runs/base/model"), peft_version: "0.18.0", revision: null };
  await writeFile(file, JSON.stringify({ ...config, ...own }));
  return folder;
}
