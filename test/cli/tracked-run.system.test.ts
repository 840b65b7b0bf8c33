import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startMlflowServer } from "../reports/trackers/mlflow-server.ts";
import { runInProcess } from "./run-in-process.ts";
import { tinyRunFolder } from "./run-lyceum.ts";

it("sends the run to the trackers of its config, and prints its health", async () => {
  await using server = await startMlflowServer();
  const folder = await tinyRunFolder();
  const mlflow = `{ type: mlflow, url: "${server.url}", experiment: tests }`;
  const settings = [
    "algorithm={ id: grpo, groupSize: 2 }",
    "training.steps=4",
    // Completions of an untrained model do not end by themselves.
    "sampling.maxTokens=3",
    "health={ window: 2, truncation: 0.5, ignore: [without-signal, duplicates, unscored, entropy-high] }",
    `trackers=[tensorboard, ${mlflow}]`,
  ];
  const args = ["train", "--config", "tiny.yaml", ...settings.flatMap((setting) => ["--set", setting])];
  const { code, stdout, stderr } = await runInProcess(args, { folder });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout.match(/^health at step 2: .* of the completions or episodes are cut off/gm)).toHaveLength(1);
  expect(stdout).not.toContain("cannot be written");

  const output = join(folder, "runs", "tiny");
  expect(await readdir(join(output, "tensorboard"))).toHaveLength(1);
  expect(await readFile(join(output, "report.html"), "utf8")).toContain('"check":"');
  const steps = server.calls.flatMap(({ fields }) => (fields.metrics ?? []) as { key: string; step: number }[]);
  expect(steps.filter(({ key }) => key === "reward/mean").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  expect(server.calls.at(-1)?.fields).toMatchObject({ status: "FINISHED" });
});
