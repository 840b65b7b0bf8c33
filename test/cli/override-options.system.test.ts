import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { createProgram, type TrainArguments } from "../../cli/create-program.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { resumeCommand } from "../../cli/resume-command.ts";
import type { RunConfig } from "../../cli/run-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import { tinyRunFolder } from "./run-lyceum.ts";

const yaml = `
environment: { id: code, agents: 2 }
algorithm: { id: magrpo }
model: { path: Qwen/Qwen2.5-Coder-0.5B-Instruct }
`;

/** Returns the arguments of `lyceum train` for a command line. Throws commander's error. */
async function parse(...argv: string[]): Promise<TrainArguments> {
  let told: TrainArguments | undefined;
  const never = () => Promise.reject(new Error("another command"));
  const program = createProgram(
    {
      train: async (args) => {
        told = args;
      },
      ...{ report: never, init: never, check: never, play: never, collect: never, export: never },
      ...{
        eval: never,
        compare: never,
        rescore: never,
        view: never,
        capture: never,
        migrate: never,
        info: never,
        setupTorch: never,
        torchNode: never,
      },
      ...{ exportPython: never, exportHarbor: never, serve: never, serveModel: never, plan: never },
    },
    { version: "0" },
  );
  for (const command of [program, ...program.commands]) command.configureOutput({ writeErr: () => {} });
  await program.parseAsync(["train", ...argv], { from: "user" });
  return told!;
}

/** Returns the config above with the changes of a command line. */
async function load(...argv: string[]): Promise<RunConfig> {
  const folder = temporaryFolder();
  const path = join(folder, "train.yaml");
  await writeFile(path, yaml);
  const { set } = await parse(...argv);
  return (await loadStages({ path, overrides: set, catalog: await openCatalog() }))[0]!.config;
}

it("--override takes several changes, may be repeated, and ends where another option begins", async () => {
  const first = ["--override", "training.steps=7", "training.batchSize=2"];
  const config = await load(...first, "--override", "seed=3", "sampling.topP=0.5", "--resume");
  expect(config).toMatchObject({ seed: 3, training: { steps: 7, batchSize: 2 }, sampling: { topP: 0.5 } });
  const list = await load("--override", "algorithm.turnWeights=[1.5,0.5]", "environment.maxTurns=2");
  expect(list).toMatchObject({ algorithm: { turnWeights: [1.5, 0.5] }, environment: { maxTurns: 2 } });
});

it.each(["--model_name", "--model-name"])("%s sets model.path, for any name", async (flag) => {
  expect((await load(flag, "bigcode/starcoder2-3b")).model.path).toBe("bigcode/starcoder2-3b");
  expect((await load(`${flag}=C: {odd} #name`)).model.path).toBe("C: {odd} #name");
});

it.each(["--num_turns", "--num-turns"])("%s sets environment.maxTurns", async (flag) => {
  expect((await load()).environment).toMatchObject({ maxTurns: 1 });
  expect((await load(flag, "3")).environment).toMatchObject({ maxTurns: 3 });
});

it.each([
  "--turn_gradient_weights",
  "--turn-gradient-weights",
])("%s sets algorithm.turnWeights to all that follow", async (flag) => {
  expect((await load()).algorithm.turnWeights).toBeUndefined();
  expect((await load(flag, "1.2", "0.8")).algorithm.turnWeights).toEqual([1.2, 0.8]);
  expect((await parse(flag, "1.2", "0.8")).set).toEqual(["algorithm.turnWeights=[1.2,0.8]"]);
  expect((await load(flag, "1e-7", "2", "3", "--num_turns", "3")).algorithm.turnWeights).toEqual([1e-7, 2, 3]);
});

it.each(["-o", "--output", "--output_base_dir"])("%s sets the run folder", async (flag) => {
  expect(await parse(flag, "elsewhere")).toMatchObject({ output: "elsewhere" });
});

it("the last change of a key wins, in any spelling", async () => {
  const turns = async (...argv: string[]) => (await load(...argv)).environment?.maxTurns;
  expect(await turns("--num_turns", "2", "--set", "environment.maxTurns=3")).toBe(3);
  expect(await turns("--set", "environment.maxTurns=3", "--num-turns", "2")).toBe(2);
  const weights = ["--set", "algorithm.turnWeights=[3]", "--turn_gradient_weights", "1", "2"];
  expect((await load(...weights)).algorithm.turnWeights).toEqual([1, 2]);
  expect(await turns("--override", "environment.maxTurns=3", "--set", "environment.maxTurns=4")).toBe(4);
});

it.each([
  ["--num_turns", "two"],
  ["--num_turns", "0"],
  ["--num_epochs", "0.5"],
  ["--turn_gradient_weights", "1.2,0.8"],
  ["--turn_gradient_weights"],
  ["--override"],
  ["--model_nam", "x"],
])("refuses %j", async (...argv) => {
  await expect(parse(...argv)).rejects.toMatchObject({ code: expect.stringMatching(/^commander\./) });
});

it("a key that does not exist is the usual error, from a flag and from --override", async () => {
  await expect(load("--override", "magrpo.num_turns=2")).rejects.toMatchObject({ code: "config.invalid" });
  const math = ["--override", "environment={id: math}", "algorithm={id: sft}", "--turn_gradient_weights", "1"];
  await expect(load(...math)).rejects.toMatchObject({ code: "config.invalid" });
});

it("--num_epochs sets the epochs, for any steps in the config", async () => {
  const set = ["--override", "tasks.split=train[:6]", "training.batchSize=4", "training.steps=50"];
  const args = ["train", "--config", "tiny.yaml", "--num_epochs", "2", ...set];
  const { code, stdout } = await runInProcess(args, { folder: await tinyRunFolder() });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^run: .* 4 steps, /);
});

it("the command that resumes a run contains all arguments", async () => {
  const argv = ["-c", "a.yaml", "--num_turns", "2", "--turn_gradient_weights", "1.2", "0.8", "--num_epochs", "3"];
  const command = resumeCommand({
    args: await parse(...argv),
    output: "out",
    script: "/bin/lyceum",
    environment: {},
  });
  const [, , ...again] = command.replaceAll("'", "").split(" ");
  expect(await parse(...again)).toEqual({ ...(await parse(...argv)), output: "out", resume: true });
});
