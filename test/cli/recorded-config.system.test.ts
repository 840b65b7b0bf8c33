import { globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import type { LoadedRun } from "../../cli/check-run-config.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { recordedKeys } from "../../cli/recorded-keys.ts";
import { trainingPart } from "../../cli/run-config.ts";
import { configText, recordedConfig } from "../../reports/training/config-file.ts";
import type { Json } from "../../src/contract/json.ts";
import type { ResolvedConfig, TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { resolveConfig } from "../../trainers/training/resolve-config.ts";
import { repository } from "../examples/run-program.ts";
import { runInProcess } from "./run-in-process.ts";
import { tinyConfig, tinyRunFolder } from "./run-lyceum.ts";

const folder = join(repository, "examples");
const files = globSync("**/*.yaml", { cwd: folder, exclude: ["serving/**"] }).toSorted();
const catalog = await openCatalog();

const resolved = ({ config, algorithms }: LoadedRun): Promise<ResolvedConfig> =>
  resolveConfig(trainingPart(config), { algorithms });

/** Returns the text that a run in `runs/it` records of a config in `from`. */
async function record(loaded: LoadedRun, from: string): Promise<string> {
  const plain = JSON.parse(JSON.stringify(await resolved(loaded))) as Json;
  return configText(recordedConfig(plain, recordedKeys(loaded.config, { from, to: "runs/it" }))!);
}

/** Returns programs with any path of their module. */
function moved(programs: LoadedRun["config"]["agents"]["programs"]): object {
  return Object.fromEntries(
    Object.entries(programs).map(([agent, { module, ...rest }]) => [
      agent,
      module === undefined ? rest : { ...rest, module: expect.stringMatching(basename(module)) },
    ]),
  );
}

describe.each(files)("%s", (file) => {
  it("is recorded so that the record resolves to itself", async () => {
    const path = join(folder, file);
    for (const stage of await loadStages({ path, overrides: [], catalog })) {
      const text = await record(stage, join(path, ".."));
      const [again] = await loadStages({ path: "runs/it/config.yaml", text, overrides: [], catalog });
      expect(await record(again!, "runs/it")).toBe(text);
      // The path of a file depends on the config's folder.
      const { algorithm, environment, agents, ...rest } = again!.config;
      expect({ ...stage.config, ...(await resolved(stage)), output: "runs/it" }).toMatchObject({
        ...rest,
        agents: { ...agents, programs: moved(agents.programs) },
        algorithm: { ...algorithm, id: expect.stringMatching(basename(algorithm.id)) },
        ...(environment && { environment: { ...environment, id: expect.stringMatching(basename(environment.id)) } }),
      });
      expect(await resolved(again!)).toEqual(trainingPart(again!.config));
    }
  });

  it("resolves in a program to the same value as on the command line", async () => {
    const text = await readFile(join(folder, file), "utf8");
    const plain = parse(text);
    // A program gives these to `train` or to the backend.
    for (const key of ["environment", "environments", "output", "trackers", "health", "backend"]) delete plain[key];
    if (plain.stages !== undefined) return;
    const algorithm = typeof plain.algorithm === "string" ? { id: plain.algorithm } : plain.algorithm;
    const [run] = await loadStages({ path: join(folder, file), overrides: [], catalog });
    expect(await resolveConfig({ ...plain, algorithm } as TrainingConfigInput)).toEqual(await resolved(run!));
  });
});

/** Writes a module whose settings append a word to `checks.txt` whenever they are checked. */
const counting = (word: string): string => `
import { appendFileSync } from "node:fs";
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
const checked = (schema) => schema.check(() => appendFileSync("checks.txt", "${word}\\n"));
`;
const source = (path: string): string => JSON.stringify(join(repository, path));

async function countedRun(): Promise<string> {
  const where = await tinyRunFolder();
  await mkdir(join(where, "configs"));
  await writeFile(
    join(where, "configs/environment.ts"),
    `${counting("environment")}
    import { mathEnvironment } from ${source("environments/math/math.ts")};
    export const entry = {
      id: "mine",
      description: "Additions.",
      // Reading this option twice would change it twice.
      options: z.object({ digits: checked(z.int().default(0)).transform((digits) => digits + 1) }),
      create: ({ digits }) => mathEnvironment({ tasks: "arithmetic", digits, answerOnly: true }),
    };`,
  );
  await writeFile(
    join(where, "configs/algorithm.ts"),
    `${counting("algorithm")}
    import { imitation } from ${source("trainers/credit/index.ts")};
    export const algorithm = {
      id: "mine",
      description: "Imitates.",
      settings: z.strictObject({ weight: checked(z.number().default(1)) })
        .refine(({ weight }) => weight < 9, { message: "too much", path: ["weight"] }),
      create: ({ weight }) => ({
        rollout: { actor: "demonstration", groupSize: 1, dropGroupsWithoutSignal: false, resampleRounds: 0 },
        credit: imitation({ actions: weight, observations: 0 }),
        loss: { terms: [{ type: "crossEntropy" }], aggregation: "token-mean" },
        updates: { epochs: 1, minibatches: 1 },
        learnsFrom: "demonstrations",
      }),
    };`,
  );
  const config = tinyConfig
    .replace(/environment: .*/, "environment: ./environment.ts")
    .replace(/algorithm: .*/, "algorithm: ./algorithm.ts")
    .replace(", learningRate: 1e-3", "");
  await writeFile(join(where, "configs/tiny.yaml"), config);
  return where;
}

it("a run checks each part of its config once, and continues from its recorded config", async () => {
  const where = await countedRun();
  const first = await runInProcess(["train", "-c", "configs/tiny.yaml", "--set", "training.steps=1"], {
    folder: where,
  });
  expect(first.stderr).toBe("");
  expect(first.stdout).toContain("a model from scratch, from demonstrations");
  expect((await readFile(join(where, "checks.txt"), "utf8")).trim().split("\n").toSorted()).toEqual([
    "algorithm",
    "environment",
  ]);
  const recorded = "runs/tiny/config.yaml";
  expect(parse(await readFile(join(where, recorded), "utf8"))).toMatchObject({
    environment: { id: "../../configs/environment.ts", digits: 1 },
    algorithm: { id: "../../configs/algorithm.ts", weight: 1 },
    output: join("runs", "tiny"),
    training: { steps: 1, learningRate: 1e-3, warmupSteps: 0 },
  });
  // The transform would apply again to the recorded option.
  const more = ["--set", "training.steps=2", "--set", "environment.digits=0", "--resume"];
  const second = await runInProcess(["train", "-c", recorded, ...more], { folder: where });
  expect(second.stderr).toBe("");
  expect(second.stdout).toMatch(/resumed from step 1[\s\S]*\nstep 2\/2 /);
});

it("the checks of an algorithm's whole settings name their place in the config", async () => {
  const where = await countedRun();
  const args = ["train", "-c", "configs/tiny.yaml", "--set", "algorithm.weight=9"];
  const { code, stderr } = await runInProcess(args, { folder: where });
  expect(stderr).toContain("--set algorithm.weight=9: algorithm.weight: too much");
  expect(code).toBe(2);
});
