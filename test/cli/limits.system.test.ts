import { execFile } from "node:child_process";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { runInProcess } from "./run-in-process.ts";
import { folderContents, tinyRunFolder } from "./run-lyceum.ts";

let folder: string;
beforeEach(async () => {
  folder = await tinyRunFolder();
});

const run = (...words: readonly string[]) => runInProcess(words, { folder });
const set = (changes: readonly string[]): string[] => changes.flatMap((change) => ["--set", change]);
const grpo = ["algorithm={id: grpo, groupSize: 2}", "probe.groups=0"];

describe("a run that is too large fails immediately, and writes nothing", () => {
  it.each<[changes: readonly string[], code: string, words: string]>([
    [[...grpo, "training.batchSize=1e9"], "config.invalid", "Lower training.batchSize or algorithm.groupSize"],
    [
      [...grpo, "algorithm.groupSize=1e9"],
      "config.invalid",
      "algorithm.groupSize: expected number to be at most 100000",
    ],
    [[...grpo, "algorithm.groupSize=100000", "training.batchSize=1000"], "config.invalid", "200 GB or more"],
    [["algorithm={id: ppo, groupSize: 1e9}"], "config.invalid", "at most 100000"],
    [["rollout.concurrency=1e9"], "config.invalid", "rollout.concurrency: expected number to be at most 100000"],
    [["evaluation={split: train, limit: 1e9}"], "config.invalid", "An evaluation would play 1,000,000,000 tasks"],
    [["evaluation.episodesPerTask=1e9"], "config.invalid", "with 1,000,000,000 episodes each"],
    [["model.scratch.layers=1e6"], "config.invalid", "model.scratch.layers: expected number to be at most 1000"],
    [["model.scratch.hiddenSize=1000000"], "backend.unsupported", "There is not enough memory for"],
    [["model.scratch.intermediateSize=1e12"], "backend.unsupported", "There is not enough memory for"],
    [["model.adapter={type: lora, rank: 1e12}"], "backend.unsupported", "There is not enough memory for"],
  ])("%j", async (changes, code, words) => {
    const before = await folderContents(folder);
    const { stdout, stderr } = await run("train", "-c", "tiny.yaml", "-o", "out", ...set(changes));
    expect(stderr).toContain(words);
    expect(stderr).toMatch(new RegExp(`^error\\[${code}\\]`, "m"));
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stdout).toBe("");
    expect(await folderContents(folder)).toEqual(before);
  });

  it("of 60,000 unknown keys", async () => {
    const keys = Array.from({ length: 60_000 }, (_, i) => `k${i}: ${i}\n`).join("");
    await writeFile(join(folder, "keys.yaml"), keys);
    const { code, stderr } = await run("train", "-c", "keys.yaml");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("longer than 20000 lines") });
  });

  it.each([
    ["--limit", "The evaluation would play 1,000,000,000 tasks"],
    ["--samples", "The number of samples must be a whole number from 1 to 100,000"],
    ["--concurrency", "concurrency must be a whole number from 1 to 100,000"],
  ])("of %s 1e9 in an evaluation", async (option, words) => {
    await writeFile(join(folder, "answers.mjs"), 'export default () => "7";');
    const limit = option === "--limit" ? ["--split", "train"] : ["--limit", "1"];
    const command = ["eval", "-e", "math", "-m", "scripted:answers.mjs", "-o", "out", ...limit, option, "1000000000"];
    const { code, stderr } = await run(...command);
    expect(stderr).toContain(words);
    expect(code).not.toBe(0);
  });
});

describe("a model folder that could block a read", () => {
  const template = "{% for a in range(100000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}";
  const spoils: Record<string, readonly [spoil: (model: string) => Promise<unknown>, words: string]> = {
    "a chat template of 1e11 steps": [
      (model) => writeFile(join(model, "chat_template.jinja"), template),
      "error[model.template]",
    ],
    "weights that are a pipe": [
      async (model) => {
        await rm(join(model, "model.safetensors"));
        await promisify(execFile)("mkfifo", [join(model, "model.safetensors")]);
      },
      "model.safetensors is malformed: it is not a file",
    ],
    "an id of 1e9": [
      async (model) => {
        const file = join(model, "tokenizer.json");
        await writeFile(file, (await readFile(file, "utf8")).replace('"id": 256', '"id": 1000000000'));
      },
      "error[model.malformed]",
    ],
    "a million layers": [
      async (model) => {
        const file = join(model, "config.json");
        await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), num_hidden_layers: 1e6 }));
      },
      "has 1000000 layers",
    ],
  };

  it("is refused", async () => {
    expect((await run("train", "-c", "tiny.yaml", "-o", "out", ...set(["training.steps=1"]))).code).toBe(0);
    for (const [name, [spoil, words]] of Object.entries(spoils)) {
      const model = join(folder, name.replaceAll(" ", "-"));
      await cp(join(folder, "out", "model"), model, { recursive: true });
      // The folder comes from elsewhere, without checksums.
      await rm(join(model, "lyceum_checksums.json"));
      await spoil(model);
      const { code, stderr } = await run("eval", "-e", "math", "-m", model, "-n", "1", "-o", `eval-${name}`);
      expect(stderr, name).toContain(words);
      expect(code, name).toBe(1);
    }
  });
});
