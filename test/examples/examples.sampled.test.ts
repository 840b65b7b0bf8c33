import { existsSync, globSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { isSlowTier, sampleOf } from "../tier.ts";
import { tinyModel } from "../tiny-model.ts";
import { repository, runProgram } from "./run-program.ts";
import { createTinyHub, type TinyHub } from "./tiny-hub.ts";
import { trainOneStep } from "./train-one-step.ts";

const data = process.env.LYCEUM_TEST_DATA ?? join(repository, "../shared/data");
const questions = join(data, "gsm8k-train.jsonl");
let hub: TinyHub;

beforeAll(async () => {
  hub = await createTinyHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** The arguments of a program, and the checks of its output. */
interface Program {
  /** It runs in the slow tier only: another program shows the same calls. */
  readonly slow?: true;
  readonly arguments?: (folder: string) => readonly string[];
  readonly check: (stdout: string) => void;
}

const examples = globSync("examples/{agents,environments,training}/*.{ts,yaml}", { cwd: repository });
const exampleNames = (extension: string): string[] =>
  examples.map((path) => basename(path)).filter((name) => name.endsWith(`.${extension}`));
const exampleFile = (name: string): string => join(repository, examples.find((path) => basename(path) === name)!);
const output = (folder: string): string[] => [join(folder, "run")];
const oneStep = (folder: string): string[] => ["1", ...output(folder)];
/** Returns the values of a metric, step by step. */
const steps = (stdout: string, metric: string): number[] =>
  [...stdout.matchAll(new RegExp(`^step .* ${metric} (-?[\\d.]+)`, "gm"))].map((match) => Number(match[1]));
/** The arguments of from-config.ts. */
const tinyRun = `
environment: { id: math, tasks: arithmetic, answerOnly: true }
algorithm: { id: sft }
model: ${JSON.stringify(tinyModel(64))}
training: { steps: 2, batchSize: 4 }
`;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * The demo, the players and reverse-text.ts have their own tests. my-algorithm.ts is an algorithm,
 * stateful-tools.ts an environment and shop-agent.ts an agent with its environment. Their configs are run below, and so
 * is judged-answers.ts with its judge.
 */
const programs: Readonly<Record<string, Program>> = {
  "custom-environment.ts": {
    check: (stdout) => {
      expect(stdout.match(/^ {2}\w+ 1\.00$/gm)).toHaveLength(8);
      expect(stdout).toMatch(/river 0\.\d+/);
    },
  },
  "multi-turn.ts": {
    check: (stdout) => {
      const episodes = [...stdout.matchAll(/^episode \d: (\d) turns, reward (0\.\d+)$/gm)];
      expect(episodes).toHaveLength(3);
      for (const [, turns, reward] of episodes) expect(Number(reward)).toBe(1 - (Number(turns) - 1) / 8);
    },
  },
  "train-by-hand.ts": {
    slow: true,
    check: (stdout) => {
      const losses = [...stdout.matchAll(/imitate: loss (\d\.\d+)/g)].map((match) => Number(match[1]));
      expect(losses.at(-1)).toBeLessThan(0.7 * losses[0]!);
      const rewards = [...stdout.matchAll(/reinforce: .* reward (\d\.\d+)/g)].map((match) => Number(match[1]));
      expect(rewards.at(-1)).toBeGreaterThan(0.2);
    },
  },
  "train-from-code.ts": {
    slow: true,
    arguments: output,
    check: (stdout) => {
      const accuracies = [...stdout.matchAll(/evaluation of test .* accuracy ([\d.]+)%/g)].map((match) =>
        Number(match[1]),
      );
      expect(accuracies).toHaveLength(4);
      expect(accuracies[0]).toBeLessThan(10);
      // GRPO starts from the weights that SFT exported.
      expect(accuracies[2]).toBe(accuracies[1]);
      expect(accuracies[1]).toBeGreaterThan(40);
      expect(accuracies[3]).toBeGreaterThan(40);
    },
  },
  "simple-ppo.ts": {
    slow: true,
    arguments: output,
    check: (stdout) => {
      const rewards = steps(stdout, "reward");
      expect(rewards).toHaveLength(30);
      expect(rewards[0]).toBeLessThan(0.1);
      expect(mean(rewards.slice(-3))).toBeGreaterThan(0.8);
    },
  },
  "dpo-preferences.ts": {
    slow: true,
    arguments: output,
    check: (stdout) => {
      const losses = steps(stdout, "loss");
      // Before the first update, policy and reference are equal: -log sigma(0).
      expect(losses[0]).toBeCloseTo(Math.log(2), 3);
      expect(losses.at(-1)).toBeLessThan(0.1);
    },
  },
  "sft-world-model.ts": {
    slow: true,
    arguments: output,
    check: (stdout) => {
      const losses = steps(stdout, "loss");
      expect(losses).toHaveLength(40);
      // The next place follows from the last place and the action, so nearly everything can be predicted.
      expect(losses.at(-1)).toBeLessThan(0.05 * losses[0]!);
    },
  },
  "sft-then-ppo.ts": {
    slow: true,
    arguments: output,
    check: (stdout) => {
      const accuracies = [...stdout.matchAll(/evaluation of test .* accuracy ([\d.]+)%/g)].map((match) =>
        Number(match[1]),
      );
      expect(accuracies).toHaveLength(4);
      // PPO starts from the weights that SFT exported.
      expect(accuracies[2]).toBe(accuracies[1]);
      const rewards = steps(stdout, "reward");
      expect(rewards).toHaveLength(15);
      expect(mean(rewards.slice(-3))).toBeGreaterThan(mean(rewards.slice(0, 3)));
    },
  },
  "code-ppo.ts": {
    slow: true,
    arguments: oneStep,
    check: (stdout) => expect(stdout).toMatch(/^run: ppo on code, .*\n(.*\n)*step 1\/1 /),
  },
  "math-ppo.ts": {
    slow: true,
    arguments: oneStep,
    check: (stdout) => expect(stdout).toMatch(/^run: ppo on gsm8k, .*\n(.*\n)*step 1\/1 /),
  },
  "math-grpo.ts": {
    arguments: oneStep,
    check: (stdout) => expect(stdout).toMatch(/^run: grpo on math, .*\n(.*\n)*step 1\/1 /),
  },
  "tool-use-ppo.ts": {
    slow: true,
    arguments: oneStep,
    check: (stdout) => expect(stdout).toMatch(/^run: ppo on tools, .*\n(.*\n)*step 1\/1 /),
  },
  "several-environments.ts": { arguments: oneStep, check: (stdout) => expect(stdout).toMatch(/\nstep 1\/1 /) },
  "two-writers.ts": {
    arguments: oneStep,
    check: (stdout) => expect(stdout).toMatch(/^run: magrpo on two-writers, .*\n(.*\n)*step 1\/1 /),
  },
  "from-config.ts": {
    arguments: (folder) => [join(folder, "train.yaml"), ...output(folder)],
    check: (stdout) => expect(stdout).toMatch(/^run: sft on math, .*\n(.*\n)*step 2\/2 /),
  },
};

it("every program of the folder is run here", () => {
  const files = exampleNames("ts");
  const others = ["demo.ts", "halving-player.ts", "judged-answers.ts", "my-algorithm.ts", "random-player.ts"];
  others.push("perfect-player.ts", "reverse-text.ts", "shop-agent.ts", "stateful-tools.ts", "strict-judge.ts");
  expect(files.filter((file) => !others.includes(file)).toSorted()).toEqual(Object.keys(programs).toSorted());
});

describe.each(Object.entries(programs).filter(([, { slow }]) => isSlowTier || slow === undefined))("%s", (file, {
  arguments: given,
  check,
}) => {
  it("shows its documented result", async () => {
    const folder = temporaryFolder();
    try {
      await writeFile(join(folder, "train.yaml"), tinyRun);
      const { code, stdout, stderr } = await runProgram(exampleFile(file), {
        folder,
        arguments: given?.(folder) ?? [],
        environment: hub.environment,
      });
      expect(stderr).toBe("");
      expect(code).toBe(0);
      check(stdout);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

it("judged-answers.ts is judged by strict-judge.ts", async () => {
  const folder = temporaryFolder();
  const words = ["--env", exampleFile("judged-answers.ts"), "--judge", exampleFile("strict-judge.ts")];
  const { code, stdout, stderr } = await runProgram(join(repository, "cli/main.ts"), {
    folder,
    arguments: ["eval", ...words, "--model", "demonstration", "--output", "judged"],
  });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).toMatch(/judge: 3 requests/);
});

/** A tiny step of each of two stages: demonstrations, then GRPO. */
const stages = [
  ...["stages.0.training.steps=1", "stages.0.training.batchSize=2"],
  ...["stages.1.training.steps=1", "stages.1.training.batchSize=2", "stages.1.algorithm.groupSize=2"],
];

describe("the configs", () => {
  const configs: Readonly<Record<string, readonly string[]>> = {
    "arithmetic-sft.yaml": [],
    "arithmetic-grpo.yaml": ["model.path=HuggingFaceTB/SmolLM2-135M-Instruct", "algorithm.groupSize=2"],
    "gsm8k-grpo.yaml": ["algorithm.groupSize=2"],
    "humaneval-grpo.yaml": ["algorithm.groupSize=2"],
    "humaneval-js-grpo.yaml": ["algorithm.groupSize=2"],
    "bug-fix-grpo.yaml": ["algorithm.groupSize=2"],
    "classeval-magrpo.yaml": ["algorithm.groupSize=2"],
    "coophumaneval-magrpo.yaml": ["algorithm.groupSize=2"],
    "tools-grpo.yaml": ["algorithm.groupSize=2", "environment.tools=[calculator]"],
    "debate-selfplay.yaml": ["algorithm.groupSize=2", "environment.rounds=1"],
    "writing-grpo.yaml": ["algorithm.groupSize=2"],
    "math-problems-grpo.yaml": ["algorithm.groupSize=2"],
    "math-grpo.yaml": ["algorithm.groupSize=2"],
    "number-guessing-grpo.yaml": stages,
    "word-guessing-grpo.yaml": stages,
    "tic-tac-toe-selfplay.yaml": stages,
    "kuhn-poker-selfplay.yaml": stages,
  };

  it("are all run here", () => {
    const files = exampleNames("yaml");
    const others = ["my-algorithm.yaml", "shop-agent.yaml", "stateful-tools.yaml"];
    expect(files.toSorted()).toEqual([...Object.keys(configs), ...others].toSorted());
  });

  it("my-algorithm.yaml learns with its own algorithm, and with a setting of that", async () => {
    const folder = temporaryFolder();
    const lyceum = (...set: string[]) =>
      runProgram(join(repository, "cli/main.ts"), {
        folder,
        arguments: [
          "train",
          "-c",
          join(repository, "examples/training/my-algorithm.yaml"),
          "-o",
          ...output(folder),
          "--override",
          ...set,
        ],
      });
    const small = tinyModel(32);
    const { code, stdout, stderr } = await lyceum(
      ...[`model=${JSON.stringify(small)}`, "evaluation.limit=2"],
      ...stages,
    );
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^run: sft on math, .*\n(.*\n)*step 1\/1 /m);
    expect(stdout).toMatch(/^run: .*my-algorithm\.ts on math, .*\n(.*\n)*step 1\/1 /m);
    const wrong = await lyceum("stages.1.algorithm.leastRewards=1");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("leastReward");
  });

  const own: [name: string, environment: string, lines: number][] = [
    ["stateful-tools", "shop", 30],
    ["shop-agent", "shop-orders", 60],
  ];
  it.each(
    sampleOf(own, 2),
  )("%s.yaml trains by SFT, then by GRPO, in its own environment", async (name, environment, lines) => {
    const folder = temporaryFolder();
    const path = exampleFile(`${name}.ts`);
    expect((await readFile(path, "utf8")).trimEnd().split("\n").length).toBeLessThanOrEqual(lines);
    const small = tinyModel(256);
    const { code, stdout, stderr } = await runProgram(join(repository, "cli/main.ts"), {
      folder,
      arguments: [
        ...["train", "-c", exampleFile(`${name}.yaml`), "-o", ...output(folder), "--override"],
        ...[`model=${JSON.stringify(small)}`, "evaluation.limit=2", "stages.0.training.steps=2"],
        ...["stages.1.training.steps=1", "stages.1.training.batchSize=1", "stages.1.algorithm.groupSize=2"],
      ],
    });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^run: sft on ${environment}, .*\\n(.*\\n)*step 2/2 `, "m"));
    expect(stdout).toMatch(new RegExp(`^run: grpo on ${environment}, .*\\n(.*\\n)*step 1/1 `, "m"));
  });

  it.each(exampleNames("yaml"))("%s loads", async (file) => {
    const stages = await loadStages({ path: exampleFile(file), overrides: [], catalog: await openCatalog() });
    expect(stages.length).toBeGreaterThan(0);
  });

  it.each(sampleOf(Object.entries(configs), 8))("%s trains", async (file, set) => {
    await using run = await trainOneStep({ config: exampleFile(file), hub, set });
    expect(run.output).toMatch(/\nstep 1\/1 /);
    expect(run.output).toMatch(/\nmodel: /);
  });

  it.skipIf(!isSlowTier || !existsSync(questions))(
    "gsm8k-grpo.yaml trains on GSM8K itself (LYCEUM_TEST_DATA)",
    async () => {
      const config = join(repository, "examples/training/gsm8k-grpo.yaml");
      const set = [`model.path=${hub.model}`, `environment.path=${data}`, "algorithm.groupSize=2"];
      await using run = await trainOneStep({ config, hub, set });
      expect(run.output).toMatch(/\nstep 1\/1 /);
    },
  );

  it("arithmetic-grpo.yaml starts from the model of arithmetic-sft.yaml", async () => {
    const shape = ["model.scratch.hiddenSize=16", "model.scratch.layers=1", "model.scratch.heads=2"];
    await using first = await trainOneStep({
      config: join(repository, "examples/training/arithmetic-sft.yaml"),
      hub,
      set: shape,
    });
    await using second = await trainOneStep({
      config: join(repository, "examples/training/arithmetic-grpo.yaml"),
      hub,
      set: [`model.path=${join(first.folder, "model")}`],
    });
    expect(second.output).toMatch(/\nstep 1\/1 /);
  });
});
