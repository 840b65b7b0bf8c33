import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { evalFolder, timeless } from "./eval-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import type { LyceumResult } from "./run-lyceum.ts";

let folder: string;
beforeEach(async () => {
  folder = await evalFolder();
});

const run = (words: string): Promise<LyceumResult> => runInProcess(words.split(" "), { folder });

/** Trains a small model to answer with digits, so that some answers are right. Returns the last evaluation. */
async function train(environment: string): Promise<string> {
  const config = `${environment}
algorithm: { id: sft }
model: { scratch: { hiddenSize: 32, layers: 1 }, adapter: { type: full } }
sampling: { maxTokens: 2 }
evaluation: { split: "test[:16]", every: 20, temperature: 1, episodesPerTask: 8 }
probe: { groups: 0 }
training: { steps: 20, batchSize: 8, learningRate: 0.01 }
`;
  await writeFile(join(folder, "train.yaml"), config);
  expect(await run("train --config train.yaml --output trained")).toMatchObject({ code: 0, stderr: "" });
  return "trained/evaluations/step-000020";
}

const sums = "tasks: arithmetic, operations: [addition], difficulty: [1, 1], answerOnly: true";

describe("lyceum rescore of an evaluation of a training", () => {
  it.each([
    ["one environment", `environment: { id: math, ${sums} }`],
    [
      "several environments",
      `environments:\n  - { id: math, ${sums}, weight: 1 }\n  - { id: math, name: other, ${sums}, seed: 1, weight: 1 }`,
    ],
  ])("gives equal metrics for %s", async (_, environment) => {
    const evaluation = await train(environment);
    expect(await run(`rescore ${evaluation} -o again`)).toMatchObject({ code: 0, stderr: "" });
    const before = await readSummary(join(folder, evaluation));
    expect(before.metrics.accuracy!.value).toBeGreaterThan(0);
    expect(timeless(await readSummary(join(folder, "again")))).toEqual(timeless(before));
    const { identity, rescoredFrom } = await readManifest(join(folder, "again"));
    expect(rescoredFrom).toBe(evaluation);
    expect(identity).toEqual((await readManifest(join(folder, evaluation))).identity);

    const wrong = await run("rescore trained -o wrong");
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("evaluations/step-000100") });
  });

  it("loads no code that the log of a mixture names", async () => {
    const evaluation = join(folder, "log");
    await mkdir(evaluation);
    const trained = join(folder, await train(`environments:\n  - { id: math, ${sums}, weight: 1 }`));
    for (const file of ["evaluation.json", "episodes.jsonl", "tasks.jsonl", "index.jsonl", "summary.json"]) {
      const text = await readFile(join(trained, file), "utf8");
      await writeFile(join(evaluation, file), text.replace('"id": "math"', '"id": "./uneven.ts"'));
    }
    const refused = await run("rescore log -o again");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("a log loads no code") });
  });
});
