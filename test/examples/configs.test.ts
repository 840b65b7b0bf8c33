import { existsSync, globSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { openCatalog } from "../../src/cli/catalog.ts";
import { loadRunConfig } from "../../src/cli/load-run-config.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { pythonSandbox } from "../environments/python-sandbox.ts";
import { repository } from "./run-program.ts";
import { createTinyHub, type TinyHub } from "./tiny-hub.ts";
import { trainOneStep } from "./train-one-step.ts";

const folder = join(repository, "examples/configs");
const files = globSync("**/*.yaml", { cwd: folder }).toSorted();
const data = process.env.LYCEUM_TEST_DATA ?? join(repository, "../shared/data");
const model = { scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 8192 }, device: "cpu", threads: 1 };

let hub: TinyHub;
let backend: TrainingBackend;
let preferences: string;
beforeAll(async () => {
  hub = await createTinyHub();
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  preferences = join(await mkdtemp(join(tmpdir(), "lyceum-preferences-")), "preferences.jsonl");
  await writeFile(preferences, `${JSON.stringify({ prompt: "1+1=", chosen: "2", rejected: "3" })}\n`);
  const said = ["1+1=", "3", "No.", "2"].map((content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content }));
  await writeFile(conversations(), `${JSON.stringify({ messages: said, reward: 1 })}\n`);
});
afterAll(async () => {
  await backend[Symbol.asyncDispose]();
  await rm(dirname(preferences), { recursive: true, force: true });
  await hub[Symbol.asyncDispose]();
});

const conversations = (): string => join(dirname(preferences), "conversations.jsonl");

/** Returns the first comment of a file as one line. */
async function comment(file: string): Promise<string> {
  const lines = (await readFile(join(folder, file), "utf8")).split("\n");
  const end = lines.findIndex((line) => !line.startsWith("# "));
  return lines.slice(0, end).join(" ").replaceAll(" # ", " ");
}

async function load(file: string, overrides: readonly string[] = []) {
  const catalog = await openCatalog();
  const { config } = await loadRunConfig({ path: join(folder, file), overrides, catalog });
  const { id, ...options } = config.environment!;
  return { config, environment: () => catalog.environments.create(id, options) };
}

/** The settings that must be smaller for one step of a tiny model. */
async function tiny(file: string): Promise<string[]> {
  const { algorithm, environment } = parse(await readFile(join(folder, file), "utf8"));
  return [
    `model=${JSON.stringify(model)}`,
    ...["training.batchSize=1", "trackers=[]", "export.format=none"],
    // Code environments are slow. The splits of the benchmarks are tested below.
    ...(/^code|^class/.test(environment.id)
      ? ["evaluation={}", `environment.sandbox=${pythonSandbox}`]
      : ["evaluation.limit=1"]),
    ...(algorithm.groupSize === undefined ? [] : ["algorithm.groupSize=2"]),
    ...(environment.id === "preferences" ? [`environment.path=${preferences}`] : []),
    ...(environment.id === "conversations" ? [`environment.path=${conversations()}`] : []),
  ];
}

describe.each(files)("%s", (file) => {
  it("loads, and names its original, the differences and the command", async () => {
    const { steps, batchSize } = (await load(file)).config.training;
    const said = await comment(file);
    expect(said).toMatch(/^# .*(Corresponds to|as) \w+\.yaml.* of \w+.*\. .*Differs/);
    const passes = /(\d+) epochs of (\d+) /.exec(said);
    if (passes !== null) expect(steps).toBe(Math.floor((Number(passes[1]) * Number(passes[2])) / batchSize));
    expect(await readFile(join(folder, file), "utf8")).toContain(
      `\n#   npm run lyceum -- train --config examples/configs/${file}\n`,
    );
  });

  it("trains a step", async () => {
    await using run = await trainOneStep({ config: join(folder, file), hub, backend, set: await tiny(file) });
    expect(run.output).toMatch(/\nstep 1\/1 /);
  });
});

describe("on the benchmarks themselves (LYCEUM_TEST_DATA)", () => {
  const published: Readonly<Record<string, string>> = {
    humaneval: "HumanEval.jsonl.gz",
    "coop-humaneval": "coop-humaneval.json",
    "mbpp-coop": "mbpp-sanitized-openmlrl.json",
    "class-completion": "ClassEval_data.json",
  };
  /** Tasks of a split of a file, by hash. */
  const read = new Map<string, readonly string[]>();
  const benchmarks = files.filter((file) => /^code-generation|^class-completion/.test(file));

  it.skipIf(!existsSync(data)).each(benchmarks)(
    "%s trains on the stated number of tasks and evaluates on others",
    async (file) => {
      const { environment: named } = (await load(file)).config;
      const path = join(data, published[String(named!.dataset ?? named!.id)]!);
      const { config, environment } = await load(file, [`environment.path=${JSON.stringify(path)}`]);
      const tasks = async (split: string): Promise<readonly string[]> => {
        const key = `${path} ${split}`;
        if (!read.has(key)) {
          const taskset = await environment().tasks(split);
          const entries = await Promise.all(Array.from({ length: Number(taskset.length) }, (_, i) => taskset.get(i)));
          const hashes = entries.map(({ hash }) => hash);
          read.set(key, hashes);
        }
        return read.get(key)!;
      };
      const [train, heldOut] = [await tasks(config.tasks.split), await tasks(config.evaluation.split!)];
      expect(train).toHaveLength(Number(/epochs of (\d+) /.exec(await comment(file))?.[1] ?? train.length));
      expect(heldOut.filter((hash) => train.includes(hash))).toEqual([]);
    },
  );
});
