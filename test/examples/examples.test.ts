import { existsSync, globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

/** What each program prints, once it has done what it is there to show. The demo has a test of its own. */
const programs: Readonly<Record<string, (stdout: string) => void>> = {
  "custom-environment.ts": (stdout) => {
    expect(stdout.match(/^ {2}\w+ 1\.00$/gm)).toHaveLength(8);
    expect(stdout).toMatch(/river 0\.\d+/);
  },
  "multi-turn.ts": (stdout) => {
    const episodes = [...stdout.matchAll(/^episode \d: (\d) turns, reward (0\.\d+)$/gm)];
    expect(episodes).toHaveLength(3);
    for (const [, turns, reward] of episodes) expect(Number(reward)).toBe(1 - (Number(turns) - 1) / 8);
  },
  "train-by-hand.ts": (stdout) => {
    const losses = [...stdout.matchAll(/imitate: loss (\d\.\d+)/g)].map((match) => Number(match[1]));
    expect(losses.at(-1)).toBeLessThan(0.7 * losses[0]!);
    const rewards = [...stdout.matchAll(/reinforce: .* reward (\d\.\d+)/g)].map((match) => Number(match[1]));
    expect(rewards.at(-1)).toBeGreaterThan(0.2);
  },
  "train-from-code.ts": (stdout) => {
    const accuracies = [...stdout.matchAll(/evaluation of test .* accuracy ([\d.]+)%/g)].map((match) =>
      Number(match[1]),
    );
    expect(accuracies).toHaveLength(4);
    expect(accuracies[0]).toBeLessThan(10);
    // What GRPO begins with is what SFT exported.
    expect(accuracies[2]).toBe(accuracies[1]);
    expect(accuracies[1]).toBeGreaterThan(40);
    expect(accuracies[3]).toBeGreaterThan(40);
  },
};

it("every program of the folder is run here", () => {
  const files = globSync(join(repository, "examples/*.ts")).map((path) => basename(path));
  expect(files.filter((file) => file !== "demo.ts").toSorted()).toEqual(Object.keys(programs).toSorted());
});

describe.each(Object.entries(programs))("%s", (file, check) => {
  it("does what it says", { timeout: 600_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "lyceum-example-"));
    try {
      const { code, stdout, stderr } = await runProgram(join(repository, "examples", file), {
        folder,
        arguments: file === "train-from-code.ts" ? [join(folder, "run")] : [],
      });
      expect(stderr).toBe("");
      expect(code).toBe(0);
      check(stdout);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

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
  };

  it("are all run here", () => {
    const files = globSync(join(repository, "examples/*.yaml")).map((path) => basename(path));
    expect(files.toSorted()).toEqual(Object.keys(configs).toSorted());
  });

  it.each(Object.entries(configs))("%s trains", async (file, set) => {
    await using run = await trainOneStep({ config: join(repository, "examples", file), hub, set });
    expect(run.output).toMatch(/\nstep 1\/1 /);
    expect(run.output).toMatch(/\nmodel: /);
  });

  it.skipIf(!existsSync(questions))("gsm8k-grpo.yaml trains on GSM8K itself (LYCEUM_TEST_DATA)", async () => {
    const config = join(repository, "examples/gsm8k-grpo.yaml");
    const set = [`model.path=${hub.model}`, `environment.path=${questions}`, "algorithm.groupSize=2"];
    await using run = await trainOneStep({ config, hub, set });
    expect(run.output).toMatch(/\nstep 1\/1 /);
  });

  it("arithmetic-grpo.yaml begins with what arithmetic-sft.yaml leaves", async () => {
    const shape = ["model.scratch.hiddenSize=16", "model.scratch.layers=1", "model.scratch.heads=2"];
    await using first = await trainOneStep({
      config: join(repository, "examples/arithmetic-sft.yaml"),
      hub,
      set: shape,
    });
    await using second = await trainOneStep({
      config: join(repository, "examples/arithmetic-grpo.yaml"),
      hub,
      set: [`model.path=${join(first.folder, "model")}`],
    });
    expect(second.output).toMatch(/\nstep 1\/1 /);
  });
});
