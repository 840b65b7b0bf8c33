import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { runInProcess } from "./run-in-process.ts";
import { trainedFolder } from "./trained-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = await trainedFolder();
});

const config = (model: string, backend: string): string => `seed: 1
environment: ./one.ts
model: { ${model}, device: cpu, threads: 1 }
backend: { ${backend} }
algorithm: { id: grpo, groupSize: 4 }
sampling: { maxTokens: 2 }
training: { steps: 2, batchSize: 3, learningRate: 0.02, sampleEvery: 0 }
probe: { groups: 0 }
checkpoint: { every: 1 }
`;

async function train(name: string, text: string) {
  await writeFile(join(folder, `${name}.yaml`), text);
  return runInProcess(["train", "-c", `${name}.yaml`, "-o", `runs/${name}`], { folder });
}

async function evaluate(...words: readonly string[]) {
  const task = ["--env", "./one.ts", "--split", "test", "--temperature", "0", "--max-tokens", "2", "--device", "cpu"];
  return runInProcess(["eval", ...task, ...words], { folder });
}

it("trains an adapter on a quantized base, whose preflight finds one policy, and evaluates it", async () => {
  const trained = await train(
    "eight",
    config("path: runs/base/model, adapter: { type: lora }", "type: onnx, quantize: 8"),
  );
  expect(trained.code, trained.stderr).toBe(0);
  expect(trained.stdout + trained.stderr).toMatch(/preflight: \d+ passed/);
  const recorded = await readFile(join(folder, "runs/eight/config.yaml"), "utf8");
  expect(recorded).toMatch(/backend:\s+type: onnx\s+quantize: 8/);
  const metrics = (await readFile(join(folder, "runs/eight/metrics.jsonl"), "utf8")).trim().split("\n");
  expect(metrics.length).toBeGreaterThan(0);
  const [checkpoint] = (await readdir(join(folder, "runs/eight/checkpoints"))).toSorted();
  for (const [i, words] of [
    ["--model", "runs/eight", "--quantize", "8"],
    ["--model", "runs/base/model", "--quantize", "4"],
    // The adapter of a checkpoint fits the float32 base too.
    ["--model", `runs/eight/checkpoints/${checkpoint}`],
    ["--model", `runs/eight/checkpoints/${checkpoint}`, "--quantize", "8"],
  ].entries()) {
    const output = `runs/eval-${i}`;
    const { code, stderr } = await evaluate(...words, "--output", output);
    expect(code, `${words.join(" ")}: ${stderr}`).toBe(0);
    const manifest = await readFile(join(folder, output, "evaluation.json"), "utf8");
    if (words.includes("--quantize")) expect(manifest).toMatch(/"quantize": ?[48]/);
    else expect(manifest).not.toContain("quantize");
  }
});

it("refuses other bits", async () => {
  const { code, stderr } = await train(
    "other-bits",
    config("path: runs/base/model, adapter: { type: lora }", "type: onnx, quantize: 3"),
  );
  expect([code, stderr]).toEqual([2, expect.stringContaining("quantize")]);
});

it("refuses other bits on the command line", async () => {
  const { code, stderr } = await evaluate("--model", "runs/base/model", "--quantize", "5");
  expect(code).toBe(2);
  expect(stderr).toMatch(/4, 8|8, 4/);
});
