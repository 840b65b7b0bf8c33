import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runInProcess } from "./run-in-process.ts";

const source = JSON.stringify(join(import.meta.dirname, "../../src/environment/define-environment.ts"));
/** It pays 7, and declares nothing, which stands for 0 to 1. */
const environment = `
import { defineEnvironment } from ${source};
export const environment = defineEnvironment({
  id: "generous", splits: ["train", "test"],
  tasks: (split) => (split === "test" ? ["one"] : ["two", "three"]),
  reset: ({ task }) => task,
  step: () => ({ reward: 7 }),
  demonstrate: () => "s",
});
`;
const config = `
environment: ./generous.ts
algorithm: ALGORITHM
model: { scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 32 }, device: cpu, threads: 1 }
sampling: { maxTokens: 2 }
training: { steps: 3, batchSize: 2 }
evaluation: { split: test, every: 1 }
probe: { groups: 0 }
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-range-"));
  await writeFile(join(folder, "generous.ts"), environment);
});
afterAll(() => rm(folder, { recursive: true }));

const warnings = (text: string): string[] => text.match(/^warning.*outside of its rewardRange \[0, 1\].*$/gm) ?? [];

it.each([
  ["sft", "step 0"], // only its evaluations are played
  ["reinforce", "step 0"],
])("a training by %s warns once of a reward outside of the range", async (algorithm, at) => {
  await writeFile(join(folder, "train.yaml"), config.replace("ALGORITHM", algorithm));
  const { code, stdout, stderr } = await runInProcess(["train", "--output", algorithm], { folder });
  expect(code, stderr).toBe(0);
  expect(warnings(stdout)).toHaveLength(1);
  expect(warnings(stdout)[0]).toContain(`at ${at}: Environment "generous" gave agent "agent" 7 in task `);
});

it("so does a collection", async () => {
  const words = ["collect", "--env", "./generous.ts", "--policy", "demonstration", "--output", "rows.jsonl"];
  const { code, stdout, stderr } = await runInProcess(words, { folder });
  expect(code, stderr).toBe(0);
  expect(warnings(stdout)).toHaveLength(1);
});
