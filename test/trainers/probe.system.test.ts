import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TrainingProgress } from "../../reports/training/index.ts";
import { plainLine } from "../../reports/training/plain-line.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { probeTraining } from "../../trainers/training/probe-training.ts";
import { train } from "../../trainers/training/train.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { type LetterTask, letterEnvironment } from "./letter-environment.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

const probeOf = (options: Partial<Parameters<typeof probeTraining>[0]> = {}) =>
  probeTraining({
    environment: letterEnvironment(),
    backend: createBigramBackend(),
    config: letterConfig({ probe: { groups: 3 } }),
    ...options,
  });

describe("the probe of a training", () => {
  it("reads the batch of the first step, and is in the run's events", async () => {
    const record = await runTraining({ output: temporaryFolder(), config: letterConfig() });
    expect(record.events.slice(0, 3).map(({ type }) => type)).toEqual(["run-start", "preflight", "probe"]);
    const [probe] = eventsOf(record, "probe");
    const [step] = eventsOf(record, "step");
    expect(probe).toMatchObject({ step: 0, groups: 8, comparison: "group" });
    expect(probe!.metrics["episodes/count"]).toBe(64);
    expect(probe!.metrics["reward/mean"]).toBe(step!.metrics["reward/mean"]);
    expect(probe!.withSignal).toBe(Math.round(8 * (1 - probe!.metrics["groups/without-signal"]!)));
    expect(probe!.samples).toHaveLength(2);
    expect(probe!.samples[0]!.reward).toBeGreaterThan(probe!.samples[1]!.reward!);
  });

  it.each([
    { id: "grpo", groupSize: 8 },
    { id: "ppo" },
    { id: "remax" },
    { id: "magrpo", groupSize: 2, jointMode: "cross" },
  ])("does not change the final weights of $id", async (algorithm) => {
    const environment = algorithm.id === "magrpo" ? teamEnvironment({ partial: 0.3 }) : letterEnvironment();
    const run = async (groups: number): Promise<unknown> => {
      const output = temporaryFolder();
      const config = letterConfig({ algorithm, probe: { groups }, rollout: { trace: true }, training: { steps: 3 } });
      const record = await runTraining({ output, environment, config });
      expect(record.error).toBeUndefined();
      const steps = eventsOf(record, "step").map(({ metrics }) => [metrics["reward/mean"], metrics["loss/total"]]);
      const traced = (await readFile(join(output, "trace.jsonl"), "utf8")).split("\n").length;
      const folder = join(output, "checkpoints", "step-000003");
      const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith("bigram.json")).sort();
      expect(files.length).toBeGreaterThan(0);
      const states = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
      return { steps, traced, weights: states.map(contentHash) };
    };
    expect(await run(3)).toEqual(await run(0));
  });

  it("does not count what follows it as time of the first step", async () => {
    const config = letterConfig({ training: { steps: 2 } });
    const run = train({
      output: temporaryFolder(),
      environment: letterEnvironment(),
      backend: createBigramBackend(),
      config,
    });
    for await (const event of run) {
      if (event.type === "probe") await setTimeout(3_000);
      if (event.type === "step") expect(event.etaMs).toBeLessThan(3_000);
    }
  });

  it("is skipped with groups 0, with SFT, and in a resumed run", async () => {
    const output = temporaryFolder();
    const none = await runTraining({ output, config: letterConfig({ probe: { groups: 0 }, training: { steps: 1 } }) });
    expect(eventsOf(none, "probe")).toEqual([]);
    const resumed = await runTraining({ output, resume: true, config: letterConfig({ training: { steps: 2 } }) });
    expect(resumed.error).toBeUndefined();
    expect(eventsOf(resumed, "probe")).toEqual([]);
    const config = letterConfig({ algorithm: { id: "sft" }, training: { steps: 1 } });
    expect(eventsOf(await runTraining({ output: temporaryFolder(), config }), "probe")).toEqual([]);
    await expect(probeOf({ config })).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("sft learns from demonstrations"),
    });
  });

  it("plays an episode again and warns if the same answers earn another reward", async () => {
    let asked = 0;
    const shared = (): EnvironmentDefinition<LetterTask> => letterEnvironment({ judge: () => asked++ / 1000 });
    expect((await probeOf({ environment: shared() })).advice[0]).toMatch(/same answers the rewards .*lyceum check/);
    const config = letterConfig({ training: { steps: 1 } });
    const record = await runTraining({ output: temporaryFolder(), environment: shared(), config });
    expect(eventsOf(record, "warning")[0]).toMatchObject({ step: 0, message: expect.stringContaining("same answers") });
    expect((await probeOf()).advice.join()).not.toContain("same answers");
  });

  it("counts groups with different rewards, and with a critic any different rewards", async () => {
    // The judge is called for each episode. Each task has one reward, and tasks differ.
    let asked = 0;
    const byTask = letterEnvironment({ judge: () => Math.floor(asked++ / 8) % 2 });
    const config = letterConfig({ rollout: { concurrency: 1 } });
    const compared = await probeOf({ environment: byTask, config });
    expect(compared).toMatchObject({ groups: 4, withSignal: 0, comparison: "group" });
    expect(compared.advice.join(" ")).toContain("larger groups");
    asked = 0;
    const judged = await probeOf({
      environment: byTask,
      config: letterConfig({ rollout: { concurrency: 1 }, algorithm: { id: "ppo", groupSize: 8 } }),
    });
    expect(judged).toMatchObject({ groups: 4, withSignal: 4, comparison: "batch", advice: [] });
  });

  it("warns if no group has a signal, and the run continues", async () => {
    const record = await runTraining({
      output: temporaryFolder(),
      environment: letterEnvironment({ judge: () => 0 }),
      config: letterConfig({ training: { steps: 1 } }),
    });
    expect(record.error).toBeUndefined();
    expect(eventsOf(record, "warning")[0]).toMatchObject({ step: 0, message: expect.stringContaining("no signal") });
    expect(eventsOf(record, "step")).toHaveLength(1);
  });

  it("is followed by the end of the run if all episodes fail", async () => {
    const environment = letterEnvironment({
      judge: () => {
        throw new Error("no judge today");
      },
    });
    const record = await runTraining({ output: temporaryFolder(), environment, config: letterConfig() });
    expect(record.error).toMatchObject({ message: expect.stringContaining("no judge today") });
  });

  it("leaves no files, and counts its episodes", async () => {
    const progress = new TrainingProgress();
    const seen: unknown[] = [];
    const environment = letterEnvironment({
      judge: (right) => {
        seen.push(progress.now());
        return Number(right);
      },
    });
    await probeOf({ environment, progress });
    expect(seen.at(-1)).toMatchObject({ activity: "probing", step: 0, unit: "episodes", total: 24, tokens: 24 });
    expect(progress.now()).toBeUndefined();
  });
});

describe("the advice of a probe", () => {
  const pretrained = { model: { path: "folder" } };
  const scratch = createBigramBackend();
  const backend: TrainingBackend = {
    ...scratch,
    openModel: (spec) => scratch.openModel({ ...spec, source: { type: "scratch", config: {}, seed: 0 } }),
  };
  const adviceFor = async (
    judge: (right: boolean) => number,
    changes: Parameters<typeof letterConfig>[0] = {},
  ): Promise<string> => {
    const probe = await probeOf({
      backend,
      environment: letterEnvironment({ judge }),
      config: letterConfig({ ...pretrained, ...changes }),
    });
    return probe.advice.join("\n");
  };

  it("is empty if enough groups have a signal", async () => {
    expect(await adviceFor((right) => Number(right))).toBe("");
  });

  it("is harder tasks if all rewards are the highest", async () => {
    expect(await adviceFor(() => 1)).toMatch(/^harder tasks/);
  });

  it("is more tokens, SFT, an easier level or a reward for the format if all rewards are the lowest", async () => {
    const advice = await adviceFor(() => 0);
    expect(advice).toContain("a higher sampling.maxTokens, now 1.");
    for (const expected of ["SFT first", "easier level", "form"]) expect(advice).toContain(expected);
  });

  it("is a higher temperature if episodes are equal", async () => {
    expect(await adviceFor(() => 0, { sampling: { maxTokens: 1, temperature: 0.001 } })).toContain(
      "a higher sampling.temperature, now 0.001",
    );
  });

  it("is only SFT first for a model from scratch", async () => {
    const advice = await adviceFor(() => 0, { model: { scratch: {} } });
    expect(advice).toMatch(/^SFT first: .*model from scratch/);
    expect(advice).not.toContain("maxTokens");
  });
});

describe("a probe in the terminal", () => {
  it("shows its numbers, its samples and its advice, without control characters", async () => {
    const event = await probeOf({ environment: letterEnvironment({ judge: () => 0 }) });
    const lines = plainLine({ ...event, samples: [{ prompt: "a\nb", completion: "\u001B[2J", reward: 0 }] }).split(
      "\n",
    );
    expect(lines).toEqual([
      expect.stringMatching(/^probe: 0 of 3 groups have a signal, reward 0 .*24 episodes in /),
      "  sample, reward 0: a⏎b → \\x1b[2J",
      expect.stringMatching(/^ {2}try: SFT first/),
    ]);
  });
});
