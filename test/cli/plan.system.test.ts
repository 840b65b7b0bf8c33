import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { PlannedRun } from "../../cli/plan-text.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { shapes } from "../trainers/plan/shapes.ts";
import { runInProcess } from "./run-in-process.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
  const environment =
    "environment: { id: math, tasks: arithmetic, operations: [addition], digits: 1, answerOnly: true }";
  const model = "model: { scratch: { hiddenSize: 32, layers: 2 } }";
  const steps = "sampling: { maxTokens: 8 }\ntraining: { batchSize: 4 }";
  await writeFile(
    join(folder, "grpo.yaml"),
    `${environment}\n${model}\n${steps}\nalgorithm: { id: grpo, groupSize: 4 }\n`,
  );
  await writeFile(
    join(folder, "stages.yaml"),
    `${environment}\n${model}\n${steps}\nstages:\n  - algorithm: sft\n  - algorithm: { id: grpo, groupSize: 2 }\n`,
  );
  const parts =
    "environments: [{ id: math, tasks: arithmetic, operations: [addition], digits: 1, answerOnly: true, weight: 3 }, { id: number-guessing, maximum: 10 }]";
  await writeFile(
    join(folder, "mixture.yaml"),
    `${parts}\n${model}\n${steps}\nalgorithm: { id: grpo, groupSize: 4 }\n`,
  );
  await writeFile(join(folder, "config.json"), JSON.stringify(shapes["Llama-3-8B"].config));
  await mkdir(join(folder, "moe"));
  await writeFile(join(folder, "moe", "config.json"), JSON.stringify({ model_type: "mixtral" }));
  await writeFile(join(folder, "moe", "tokenizer.json"), "{}");
});

const run = (...words: readonly string[]) => runInProcess(["plan", ...words], { folder });
const json = async (...words: readonly string[]): Promise<PlannedRun[]> => {
  const { code, stdout, stderr } = await run(...words, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as PlannedRun[];
};
const gpu = ["--device", "h100", "--prompt-tokens", "100", "--agents", "1"];

describe("lyceum plan", () => {
  it("measures this machine and plans on it", async () => {
    const { code, stdout } = await run("grpo.yaml");
    expect(code).toBe(0);
    expect(stdout).toMatch(/hardware {2}this machine's processor, \d+ threads \(rates measured now\)/);
    expect(stdout).toMatch(/one step {2}16 sequences: prompts of 5 tokens, completions of 1 to 8/);
    expect(stdout).toMatch(/It fits: \d+ MB to \d+ MB of /);
  });

  it("plans the PyTorch backend with the processes, strategy and precision of the config", async () => {
    const torch = ["-s", "backend.type=torch"];
    const four = ["-s", "backend.processes=4", "-s", "backend.strategy=fsdp", "-s", "model.adapter.type=lora"];
    const shape = ["--shape", "config.json", "-s", "training.steps=3"];
    const [planned] = await json("grpo.yaml", ...gpu, ...torch, ...four, ...shape);
    expect(planned!.plan).toMatchObject({ hardware: "4 x NVIDIA H100 SXM 80 GB, PyTorch", basis: "not tested" });
    const weights = planned!.plan.memory.find(({ name }) => name === "weights")!;
    expect(weights.assumption).toBe("the base in bfloat16, adapters in float32; layers divided over 4 processes");
    // Two bytes of each number of the base. Embedding and head are whole.
    expect(weights.middle / (2 * (1.05e9 + 6.98e9 / 4))).toBeCloseTo(1, 1);
    for (const [words, reason] of [
      [[], "Name a GPU"],
      [[...gpu, "--gpus", "4"], "Change backend.processes and backend.strategy with --set"],
      [[...gpu, "--keep-activations"], "Change backend.recompute with --set"],
      [["--device", "t4", "-s", "backend.precision=bfloat16", ...gpu.slice(2)], "T4 16 GB has no bfloat16"],
      [[...gpu, "-s", "model.precision=float16"], "only the embedded engine has"],
    ] as const) {
      const { code, stderr } = await run("grpo.yaml", ...torch, ...words, ...shape);
      expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    }
  });

  it("measures prompts and demonstrations of the environment, for each stage", async () => {
    const [sft, grpo] = await json("stages.yaml");
    expect(sft).toMatchObject({ stage: "1-sft", workload: { samples: false, prompt: { low: 5, high: 5 } } });
    // One or two digits and the end of the turn.
    expect(sft!.workload.completion).toMatchObject({ low: 2, high: 3 });
    expect(grpo).toMatchObject({ stage: "2-grpo", workload: { samples: true, sequences: 8, completion: { high: 8 } } });
  });

  it("measures the turns of demonstrations", async () => {
    const environment = "environment={id: number-guessing, maximum: 100}";
    const guess = async (...words: string[]) =>
      (await json("grpo.yaml", ...gpu.slice(0, 2), "-s", environment, ...words))[0]!;
    const { workload } = await guess();
    expect(workload.turns).toBeGreaterThan(2);
    expect((await guess("--turns", "1")).workload.sequenceLength.low * workload.turns).toBe(
      workload.sequenceLength.low,
    );
  });

  it("says that the number of turns is not known, unless it is", async () => {
    // With `--prompt-tokens`, demonstrations are not read.
    const game = ["-s", "environment={ id: kuhn-poker }", "-s", "training.steps=1", "--prompt-tokens", "5"];
    const [guessed, ofOneAgent, given, limited] = [
      await json("grpo.yaml", ...game),
      await json("grpo.yaml", ...game, "--agents", "1"),
      await json("grpo.yaml", ...game, "--turns", "2"),
      await json("grpo.yaml", ...game, "-s", "rollout.limits.turns=1"),
    ].map(([planned]) => [planned!.workload.turns, planned!.unknownTurns]);
    expect([guessed, ofOneAgent]).toEqual([
      [1, 5],
      [1, 5],
    ]);
    expect([given, limited]).toEqual([
      [2, undefined],
      [1, undefined],
    ]);
    const stages = ["-s", "stages=[{ name: short, environment: { id: math, difficulty: 1 } }, { name: long }]"];
    const both = await json("grpo.yaml", ...game, ...stages, "--turns", "4");
    expect(both.map(({ workload }) => workload.turns)).toEqual([1, 4]);
    const { code, stderr } = await run("grpo.yaml", ...game, "--turns", "6");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--turns is 6, but an episode has at most 5")]);
    expect((await run("grpo.yaml", ...game)).stdout).toContain("1 is assumed, but an episode can have 5:");
  });

  it("plans evaluations on this machine, with and without opening the environment", async () => {
    const evaluation = "evaluation={ split: test, limit: 7, episodesPerTask: 3, every: 2 }";
    const five = ["grpo.yaml", "-s", evaluation, "-s", "training.steps=5"];
    const known = ["--prompt-tokens", "5", "--turns", "1", "--agents", "1"];
    for (const words of [five, [...five, ...known, "--device", "cpu"]]) {
      const [{ plan, workload } = { plan: undefined, workload: undefined }] = await json(...words);
      expect(workload!.evaluation).toMatchObject({
        samples: true,
        sequences: 21,
        groupSize: 3,
        completion: { high: 8 },
      });
      const whole = plan!.speed.find(({ name }) => name === "whole run")!;
      // Before the first step, and after steps 2, 4 and 5.
      expect(whole.assumption).toBe("5 steps and 4 evaluations, without checkpoints");
    }
    const [short] = await json(...five, "--completion-tokens", "2");
    expect(short!.workload.evaluation!.completion.high).toBe(2);
    const [card] = await json(...five, ...gpu, "--shape", "config.json");
    expect(card!.workload).not.toHaveProperty("evaluation");
  });

  it("plans as long as the run's limits allow, and refuses a run without an agent to train", async () => {
    const guess = ["-s", "environment={ id: number-guessing, maximum: 100 }", "-s", "training.steps=1"];
    const short = ["-s", "rollout.limits.turns=1", "-s", "sampling.maxTokens=1", "-s", "algorithm=sft"];
    const [planned] = await json("grpo.yaml", ...guess, ...short, "-s", "evaluation={ split: test }");
    expect(planned!.workload.turns).toBe(1);
    expect(planned!.workload.evaluation!.completion).toEqual({ low: 1, middle: 1, high: 1 });
    const game = ["-s", "environment={ id: kuhn-poker }", "-s", "training.steps=1"];
    for (const [policies, code] of [
      ["{ first: random, second: random }", "error[config.invalid]: No agent is left to train"],
      ["{ nobody: random }", "error[config.unknown-name]"],
    ] as const) {
      const { code: exit, stderr } = await run("grpo.yaml", ...game, "-s", `agents.policies=${policies}`);
      expect([exit, stderr]).toEqual([2, expect.stringContaining(code)]);
    }
  });

  it.each([
    ["evaluation={ split: test, opponent: random }", "evaluation.opponent needs an environment with two agents"],
    ["training.batchSize=100000000", "A training step"],
    ["evaluation={ split: test, episodesPerTask: 100000000 }", "An evaluation"],
    ["export.from=best", "no best checkpoint is kept"],
    ["rewards=[{ type: scale, factor: 0 }]", "makes all rewards equal"],
    [
      "stages=[{ algorithm: sft }, { algorithm: grpo, model: { scratch: { layers: 3 } } }]",
      'stage "2-grpo" names its own model',
    ],
  ])("refuses what train refuses: %s", async (change, message) => {
    const { code, stderr } = await run("grpo.yaml", "-s", "training.steps=1", "-s", change);
    expect([code, stderr]).toEqual([2, expect.stringMatching(`error\\[config.invalid\\]: .*${message}`)]);
  });

  it("counts each task of a mixture's evaluation once", async () => {
    const sequencesOf = async (file: string, ...words: string[]): Promise<number> => {
      const evaluation = ["-s", "evaluation={ split: test, limit: 1000 }", "-s", "training.steps=1"];
      return (await json(file, ...evaluation, ...words))[0]!.workload.evaluation!.sequences;
    };
    const guessing = await sequencesOf("grpo.yaml", "-s", "environment={ id: number-guessing, maximum: 10 }");
    expect(await sequencesOf("mixture.yaml")).toBe((await sequencesOf("grpo.yaml")) + guessing);
  });

  it("plans GPUs that were not tested, with a price", async () => {
    const { stdout } = await run("grpo.yaml", ...gpu, "--gpus", "4", "--price", "2", "--shape", "config.json");
    expect(stdout).toMatch(/4 x NVIDIA H100 SXM 80 GB \(hardware not tested\)/);
    expect(stdout).toMatch(/8,030,261,248 parameters, all trained/);
    expect(stdout).toMatch(/^cost .* 2 an hour for each GPU, as given$/m);
    const [planned] = await json(
      "grpo.yaml",
      ...gpu,
      "--shape",
      "hidden_size=64,num_hidden_layers=2,num_attention_heads=4,intermediate_size=128,vocab_size=100",
    );
    // 100 x 64 twice, and of each layer: attention, feed-forward, two norms; the last norm.
    expect(planned!.plan.parameters).toBe(2 * 6400 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64);
    expect(planned!.plan.speed.map(({ name }) => name)).not.toContain("cost");
  });

  it("says what makes it fit", async () => {
    const { code, stdout } = await run("grpo.yaml", ...gpu, "--shape", "config.json");
    expect(code).toBe(0);
    expect(stdout).toMatch(/It does not fit: .* of 80 GB\. What makes it fit:\n {2}- .*lora\n {2}- 4 GPUs/);
  });

  it("refuses unknown models, and says how to give a shape", async () => {
    for (const [path, code] of [
      ["nowhere", "model.missing"],
      ["moe", "model.unsupported"],
    ] as const) {
      const { code: exit, stderr } = await run("grpo.yaml", ...gpu, "--set", `model={path: ${path}}`);
      expect([exit, stderr]).toEqual([1, expect.stringMatching(new RegExp(`${code}[\\s\\S]*--shape config.json`))]);
    }
    const unmeasured = await run(
      "grpo.yaml",
      ...gpu.slice(0, 2),
      "--shape",
      "config.json",
      "-s",
      "model={path: nowhere}",
    );
    expect([unmeasured.code, unmeasured.stderr]).toEqual([
      1,
      expect.stringMatching(/tokenizer[\s\S]*--prompt-tokens N/),
    ]);
    for (const shape of ["absent.json", "hidden_size", "hidden_size=", "grpo.yaml"]) {
      const { code, stderr } = await run("grpo.yaml", ...gpu, "--shape", shape);
      expect([shape, code, stderr]).toEqual([shape, 2, expect.stringMatching(/config.invalid[\s\S]*--shape/)]);
    }
  });

  it("asks for the hardware of a server, and for a precision that it has", async () => {
    const server = await run("grpo.yaml", "--set", "backend={type: tinker, url: http://127.0.0.1:9}");
    expect([server.code, server.stderr]).toEqual([
      2,
      expect.stringMatching(/hardware is not known[\s\S]*--device h100/),
    ]);
    const several = await run("grpo.yaml", "--gpus", "8");
    expect([several.code, several.stderr]).toEqual([2, expect.stringMatching(/--gpus 8[\s\S]*--device h100/)]);
    const cuda = await run("grpo.yaml", "--set", "model.device=cuda");
    expect([cuda.code, cuda.stderr]).toEqual([2, expect.stringMatching(/trains on cuda/)]);
    const old = await run("grpo.yaml", "--device", "t4", "--prompt-tokens", "1", "--agents", "1");
    expect([old.code, old.stderr]).toEqual([2, expect.stringMatching(/no bfloat16[\s\S]*float16/)]);
  });
});
