import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const config = `
environment: { id: math, digits: 1 }
model: { scratch: { layers: 1 } }
training: { batchSize: 4, steps: 20 }
stages:
  - algorithm: sft
    training: { steps: 5 }
  - name: practice
    algorithm: { id: ppo, groupSize: 2 }
    environments: [math, number-guessing]
`;

async function load(text: string, overrides: readonly string[] = []) {
  const folder = temporaryFolder();
  const path = join(folder, "train.yaml");
  await writeFile(path, text);
  return loadStages({ path, overrides, catalog: await openCatalog() });
}

it("merges the keys of each stage into the config", async () => {
  const stages = await load(config);
  expect(stages.map(({ name }) => name)).toEqual(["1-sft", "practice"]);
  const [first, second] = stages.map((stage) => stage.config);
  expect(first).toMatchObject({
    environment: { id: "math", digits: 1 },
    algorithm: { id: "sft" },
    training: { batchSize: 4, steps: 5 },
    model: { scratch: { layers: 1 } },
  });
  expect(second).toMatchObject({
    environments: [{ id: "math" }, { id: "number-guessing" }],
    algorithm: { id: "ppo", groupSize: 2 },
    training: { batchSize: 4, steps: 20 },
  });
  expect(second!.environment).toBeUndefined();
  expect(second).not.toHaveProperty("stages");
});

it("accepts overrides of the whole config and of one stage", async () => {
  const stages = await load(config, ["training.batchSize=2", "stages.1.training.steps=7", "seed=3"]);
  expect(stages.map(({ config: { seed, training } }) => [seed, training.batchSize, training.steps])).toEqual([
    [3, 2, 5],
    [3, 2, 7],
  ]);
});

it("returns a config without stages unchanged", async () => {
  const runs = await load("environment: math\nalgorithm: grpo\nmodel: { scratch: {} }\n");
  expect(runs).toHaveLength(1);
  expect(runs[0]!.name).toBeUndefined();
  expect(runs[0]!.config.algorithm.id).toBe("grpo");
});

it.each<[string, string, object]>([
  ["a list of anything else", "stages: [sft]\n", { message: expect.stringContaining("list of mappings") }],
  ["an empty list", "stages: []\n", { message: expect.stringContaining("list of mappings") }],
  [
    "a mistyped key of a stage",
    "environment: math\nmodel: { scratch: {} }\nstages:\n  - algorithm: sft\n  - { algorithm: ppo, trainig: {} }\n",
    { message: expect.stringMatching(/stage 2.*trainig/), hint: expect.stringContaining('"training"') },
  ],
  [
    "an output of a stage",
    "environment: math\nmodel: { scratch: {} }\nstages:\n  - algorithm: sft\n  - { algorithm: ppo, output: elsewhere }\n",
    { message: expect.stringMatching(/:5:23 \(stage 2\): output cannot be set in a stage/) },
  ],
  [
    "stages of a stage",
    "environment: math\nmodel: { scratch: {} }\nstages:\n  - { algorithm: sft, stages: [] }\n",
    { message: expect.stringContaining("stages cannot be set in a stage") },
  ],
  [
    "a stage without an algorithm",
    "environment: math\nmodel: { scratch: {} }\nstages:\n  - seed: 1\n",
    { message: expect.stringContaining("algorithm") },
  ],
])("refuses %s", async (_, text, error) => {
  await expect(load(text)).rejects.toMatchObject({ code: "config.invalid", ...error });
});

const mistaken = `environment: { id: math, digitz: 1 }
model: { scratch: {} }
training: { batchSize: 4, stepz: 20 }
stages:
  - algorithm: sft
    training: { steps: five }
  - name: practice
    algorithm: { id: ppo, groupsize: 2 }
    environment: number-guessing
`;

it.each<[string, readonly string[], string, readonly string[]]>([
  [
    "a key that all stages share, at its own place",
    [],
    mistaken,
    [
      'train.yaml:1:26 (stage 1): unknown key "digitz" in environment',
      'train.yaml:3:27 (stage 1): unknown key "stepz" in training',
      'train.yaml:6:17 (stage 1): training.steps: expected a number, got "five"',
    ],
  ],
  [
    "a key of one stage, next to one of all stages",
    ["stages.0.training.steps=5", "environment.digitz=null"],
    mistaken.replace(", digitz: 1", "").replace(", stepz: 20", ""),
    ['--set environment.digitz=null: unknown key "digitz" in environment'],
  ],
  [
    "a key of a named stage",
    [],
    mistaken.replace(", digitz: 1", "").replace(", stepz: 20", "").replace("five", "5"),
    ['train.yaml:8:27 (stage practice): unknown key "groupsize" in algorithm'],
  ],
  [
    "an override of one stage",
    ["stages.0.training.stepz=5"],
    mistaken.replace(", digitz: 1", "").replace(", stepz: 20", "").replace("five", "5"),
    ['--set stages.0.training.stepz=5: unknown key "stepz" in training'],
  ],
  [
    "an unknown environment of one stage",
    [],
    mistaken
      .replace(", digitz: 1", "")
      .replace(", stepz: 20", "")
      .replace("five", "5")
      .replace("groupsize", "groupSize")
      .replace("number-guessing", "{ id: number-guessing, hihg: 3 }"),
    ['train.yaml:9:41 (stage practice): unknown key "hihg" in environment'],
  ],
])("blames %s", async (_, overrides, text, words) => {
  const error = (await load(text, overrides).catch((reason: unknown) => reason)) as Error;
  for (const expected of words) expect(error.message).toContain(expected);
});
