import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { compareTrainings } from "../../../reports/training/compare-trainings.ts";
import { recordRun } from "../../../reports/training/index.ts";
import { runInProcess } from "../../cli/run-in-process.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { replay, sampleRun } from "./sample-run.ts";

let folder: string;

const record = async (name: string, options: { readonly steps: number; readonly rate: number }): Promise<void> => {
  const config = { training: { learningRate: options.rate, steps: options.steps }, output: name };
  for await (const _ of recordRun(replay(sampleRun(options)), { folder: join(folder, name), config }));
};

beforeAll(async () => {
  folder = temporaryFolder();
  await record("a", { steps: 20, rate: 1e-5 });
  await record("b", { steps: 40, rate: 1e-4 });
});

describe("two trainings", () => {
  it("are compared by their evaluations, their rewards and their configs", async () => {
    const { first, second, differences } = await compareTrainings(join(folder, "a"), join(folder, "b"));
    expect([first.steps, second.steps, first.status]).toEqual([20, 40, "completed"]);
    const score = second.scores["evaluation of test[:500], reward"]!;
    expect(score.last).toBeGreaterThan(score.first);
    expect(score.best).toBeGreaterThanOrEqual(score.last);
    expect(second.scores["training reward"]!.bestStep).toBeGreaterThan(1);
    expect(differences).toEqual([
      { setting: "training.learningRate", first: 1e-5, second: 1e-4 },
      { setting: "training.steps", first: 20, second: 40 },
    ]);
  });

  it("are printed by lyceum compare, and another folder is rejected", async () => {
    const { stdout, code } = await runInProcess(["compare", "a", "b"], { folder });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^A {2}a: grpo on math, .* 20 steps, .*, completed\nB {2}b: /);
    expect(stdout).toContain("  training.learningRate: A 0.00001, B 0.0001\n");
    const refused = await runInProcess(["compare", "a", "."], { folder });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("a is a training, but the other folder is not");
  });
});
