import { existsSync, globSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { pythonSandbox } from "../environments/python-sandbox.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { sampleOf } from "../tier.ts";
import { tinyModel } from "../tiny-model.ts";
import { repository } from "./run-program.ts";
import { createTinyHub, type TinyHub } from "./tiny-hub.ts";
import { trainOneStep } from "./train-one-step.ts";

const folder = join(repository, "examples/configs");
const files = globSync("**/*.yaml", { cwd: folder }).toSorted();
const data = process.env.LYCEUM_TEST_DATA ?? join(repository, "../shared/data");
const model = tinyModel(8192);

let hub: TinyHub;
let preferences: string;
beforeAll(async () => {
  hub = await createTinyHub();
  preferences = join(temporaryFolder(), "preferences.jsonl");
  await writeFile(preferences, `${JSON.stringify({ prompt: "1+1=", chosen: "2", rejected: "3" })}\n`);
  const said = ["1+1=", "3", "No.", "2"].map((content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content }));
  await writeFile(conversations(), `${JSON.stringify({ messages: said, reward: 1 })}\n`);
});
afterAll(async () => {
  await rm(dirname(preferences), { recursive: true, force: true });
  await hub[Symbol.asyncDispose]();
});

const conversations = (): string => join(dirname(preferences), "conversations.jsonl");

/** The epochs and tasks of the published runs, whose steps the configs have. */
const passes: Readonly<Record<string, readonly [epochs: number, tasks: number]>> = {
  "class-completion/iac-classeval.yaml": [40, 66],
  "class-completion/maac-classeval.yaml": [40, 66],
  "class-completion/magrpo-classeval.yaml": [13, 66],
  "code-generation/ac-coophumaneval.yaml": [80, 66],
  "code-generation/ac-humaneval.yaml": [80, 130],
  "code-generation/ac-mbpp.yaml": [80, 50],
  "code-generation/grpo-coophumaneval.yaml": [16, 66],
  "code-generation/grpo-humaneval.yaml": [8, 130],
  "code-generation/grpo-mbpp.yaml": [8, 50],
  "code-generation/iac-coophumaneval.yaml": [80, 66],
  "code-generation/iac-humaneval.yaml": [80, 130],
  "code-generation/iac-mbpp.yaml": [80, 50],
  "code-generation/maac-coophumaneval.yaml": [80, 66],
  "code-generation/maac-humaneval.yaml": [80, 130],
  "code-generation/maac-mbpp.yaml": [80, 50],
  "code-generation/magrpo-coophumaneval.yaml": [16, 66],
  "code-generation/magrpo-humaneval.yaml": [8, 130],
  "code-generation/magrpo-mbpp.yaml": [20, 50],
  "code-generation/mt-grpo-coophumaneval.yaml": [8, 66],
  "code-generation/mt-grpo-humaneval.yaml": [6, 130],
  "code-generation/mt-grpo-mbpp.yaml": [8, 50],
  "code-generation/mt-magrpo-coophumaneval.yaml": [8, 66],
  "code-generation/mt-magrpo-humaneval.yaml": [6, 130],
  "code-generation/mt-magrpo-mbpp.yaml": [8, 50],
  "writing/iac-arxiv.yaml": [20, 1000],
  "writing/iac-tldr.yaml": [20, 1100],
  "writing/maac-arxiv.yaml": [20, 1000],
  "writing/maac-tldr.yaml": [20, 1100],
  "writing/magrpo-arxiv.yaml": [2, 1000],
  "writing/magrpo-tldr.yaml": [2, 1100],
};

async function load(file: string, overrides: readonly string[] = []) {
  const catalog = await openCatalog();
  const [run] = await loadStages({ path: join(folder, file), overrides, catalog });
  const { config } = run!;
  const { id, ...options } = config.environment!;
  return { config, environment: () => catalog.environments.create(id, options) };
}

/** The settings that must be smaller for one step of a tiny model. */
async function tiny(file: string): Promise<string[]> {
  const { algorithm, environment } = parse(await readFile(join(folder, file), "utf8"));
  return [
    `model=${JSON.stringify(model)}`,
    ...["training.batchSize=1", "trackers=[]", "export.format=none", `backend={"type":"onnx"}`],
    // Code environments are slow. The splits of the benchmarks are tested below.
    ...(/^code|^class/.test(environment.id)
      ? ["evaluation={}", `environment.sandbox=${pythonSandbox}`]
      : ["evaluation.limit=1"]),
    ...(algorithm.groupSize === undefined ? [] : ["algorithm.groupSize=2"]),
    ...(environment.id === "preferences" ? [`environment.path=${preferences}`] : []),
    ...(environment.id === "conversations" ? [`environment.path=${conversations()}`] : []),
  ];
}

it.each(files)("%s loads, with the steps of the published run", async (file) => {
  const { steps, batchSize } = (await load(file)).config.training;
  const [epochs, tasks] = passes[file] ?? [];
  if (epochs !== undefined) expect(steps).toBe(Math.floor((epochs * tasks!) / batchSize));
});

it.each(sampleOf(files, 8))("%s trains a step", async (file) => {
  await using run = await trainOneStep({ config: join(folder, file), hub, set: await tiny(file) });
  expect(run.output).toMatch(/\nstep 1\/1 /);
});

it("the two backends have the same training", async () => {
  const [onnx, tinker] = await Promise.all(
    ["onnx", "tinker"].map(async (name) => parse(await readFile(join(folder, `backends/${name}.yaml`), "utf8"))),
  );
  expect(onnx.backend).toEqual({ type: "onnx" });
  expect(tinker).toEqual({ ...onnx, backend: { type: "tinker", url: "http://127.0.0.1:8000" } });
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
    "%s trains on as many tasks as the published run and evaluates on others",
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
      expect(train).toHaveLength(passes[file]?.[1] ?? train.length);
      expect(heldOut.filter((hash) => train.includes(hash))).toEqual([]);
    },
  );
});
