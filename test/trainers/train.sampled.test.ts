import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { type AdvantageEstimator, groupZScore } from "../../trainers/advantages/index.ts";
import { type Algorithm, type AlgorithmDefinition, grpo, sft } from "../../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { groupAdvantages } from "../../trainers/credit/index.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { isSlowTier, sampleOf } from "../tier.ts";
import { changedBackend } from "./changed-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { checkpointState, eventsOf, letterConfig, runEnd, runTraining } from "./run-training.ts";

const evaluation = { split: "test", temperature: 1, episodesPerTask: 2 };

/** Returns the held-out accuracy after a run, at temperature 1. */
async function finalAccuracy(options: {
  readonly algorithm: { readonly id: string; readonly [key: string]: unknown };
  readonly seed: number;
  readonly steps: number;
  readonly algorithms?: readonly AlgorithmDefinition[];
}): Promise<{ before: number; after: number }> {
  const { algorithm, seed, steps } = options;
  const record = await runTraining({
    output: temporaryFolder(),
    config: letterConfig({ algorithm, seed, evaluation, training: { steps } }),
    ...(options.algorithms === undefined ? {} : { algorithms: options.algorithms }),
  });
  expect(record.error).toBeUndefined();
  const [before, after] = eventsOf(record, "evaluation").map((event) => event.metrics.accuracy!);
  return { before: before!, after: after! };
}

/** GRPO, or SFT, with one part replaced. */
function variant(
  base: AlgorithmDefinition,
  id: string,
  change: (algorithm: Algorithm) => Algorithm,
): AlgorithmDefinition {
  return { ...base, id, create: (settings) => change(base.create(settings)) };
}

function withEstimator(id: string, change: (advantages: number[]) => number[]): AlgorithmDefinition {
  return variant(grpo as AlgorithmDefinition, id, (algorithm) => {
    const estimator: AdvantageEstimator = { id, estimate: (rewards) => change(groupZScore.estimate(rewards)) };
    return { ...algorithm, credit: groupAdvantages({ estimator }) };
  });
}

/** The mean over seeds minus, or plus, its 95 % half width (Student's t for five values). */
function bounds(values: readonly number[]): { lower: number; upper: number } {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const half = 2.776 * Math.sqrt(variance / values.length);
  return { lower: mean - half, upper: mean + half };
}

// `catalogue.sampled.test.ts` shows the same of every algorithm with one seed.
describe.runIf(isSlowTier)("training learns with each of five seeds", () => {
  const seeds = [1, 2, 3, 4, 5];
  const gains = async (options: Omit<Parameters<typeof finalAccuracy>[0], "seed">): Promise<number[]> => {
    const runs: number[] = [];
    for (const seed of seeds) {
      const { before, after } = await finalAccuracy({ ...options, seed });
      runs.push(after - before);
    }
    return runs;
  };

  it("GRPO raises held-out accuracy; negated advantages and shuffled rewards do not", async () => {
    const random = createRandom(7);
    const flipped = withEstimator("flipped", (advantages) => advantages.map((value) => -value));
    const shuffled = withEstimator("shuffled", (advantages) => random.shuffle(advantages));
    const settings = { groupSize: 8 };
    expect(bounds(await gains({ algorithm: { id: "grpo", ...settings }, steps: 30 })).lower).toBeGreaterThan(0.5);
    for (const algorithm of [flipped, shuffled]) {
      const control = await gains({ algorithm: { id: algorithm.id, ...settings }, steps: 30, algorithms: [algorithm] });
      expect(bounds(control).upper, algorithm.id).toBeLessThan(0.3);
    }
  });

  it("SFT raises held-out accuracy; its negated loss does not", async () => {
    const negated = variant(sft as AlgorithmDefinition, "negated", (algorithm) => ({
      ...algorithm,
      loss: { ...algorithm.loss, terms: [{ type: "crossEntropy", weight: -1 }] },
    }));
    expect(bounds(await gains({ algorithm: { id: "sft" }, steps: 20 })).lower).toBeGreaterThan(0.5);
    const control = await gains({ algorithm: { id: "negated" }, steps: 20, algorithms: [negated] });
    expect(bounds(control).upper).toBeLessThan(0.1);
  });
});

describe("training learns", () => {
  const forms = [
    { name: "leave-one-out", settings: { advantage: "leave-one-out" } },
    {
      name: "group-mean and a fixed length",
      settings: { advantage: "group-mean", lossAggregation: { fixedLength: 1 } },
    },
    { name: "a KL term", settings: { klWeight: 0.01, klEstimator: "k2" } },
    { name: "two epochs of two minibatches", settings: { epochs: 2, minibatches: 2 } },
    { name: "resampling", settings: { resampleRounds: 2 } },
    { name: "sequence means", settings: { lossAggregation: "sequence-mean", dropGroupsWithoutSignal: false } },
  ];
  it.each(sampleOf(forms, 5))("GRPO learns with $name", async ({ settings }) => {
    const { before, after } = await finalAccuracy({
      algorithm: { id: "grpo", groupSize: 8, ...settings },
      seed: 3,
      steps: 30,
    });
    expect(after - before).toBeGreaterThan(0.5);
  });

  it("a large KL weight keeps the policy at its reference", async () => {
    const { before, after } = await finalAccuracy({
      algorithm: { id: "grpo", groupSize: 8, klWeight: 100, klEstimator: "k2" },
      seed: 3,
      steps: 30,
    });
    expect(after - before).toBeLessThan(0.3);
  });
});

describe("events", () => {
  it("cover a run from start to end", async () => {
    const output = temporaryFolder();
    const record = await runTraining({
      output,
      config: letterConfig({
        algorithm: { id: "grpo", groupSize: 4, klWeight: 0.1 },
        evaluation: { split: "test[:8]", every: 2 },
        checkpoint: { every: 3, keep: 1 },
        training: { steps: 6, sampleEvery: 4, schedule: "linear", warmupSteps: 2 },
      }),
    });
    expect(record.error).toBeUndefined();
    expect(record.events.map(({ type }) => type)).toEqual([
      ...["run-start", "preflight", "probe", "evaluation"],
      ...["step", "sample", "step", "evaluation", "step", "checkpoint"],
      ...["step", "evaluation", "step", "sample", "step", "evaluation", "checkpoint"],
      "run-end",
    ]);
    expect(record.events[0]).toMatchObject({
      algorithm: "grpo",
      environment: "letters",
      model: { name: "llama from scratch", device: "auto" },
      steps: 6,
      resumedFrom: 0,
    });
    const steps = eventsOf(record, "step");
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(steps.map(({ metrics }) => metrics["optimizer/learning-rate"])).toEqual(
      [0.3, 0.6, 0.48, 0.36, 0.24, 0.12].map((rate) => expect.closeTo(rate, 9)),
    );
    for (const { metrics, elapsedMs, etaMs, step } of steps) {
      expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
      expect(Object.keys(metrics)).toEqual(expect.arrayContaining(expectedMetrics));
      expect(metrics["episodes/count"]).toBe(32);
      expect(metrics["length/completion-mean"]).toBe(1);
      expect(metrics["episodes/unscored"]).toBe(0);
      expect(metrics["ratio/max"]).toBeCloseTo(1, 4);
      expect(metrics["ratio/clip-fraction"]).toBe(0);
      expect(elapsedMs).toBeGreaterThan(0);
      expect(etaMs).toBeGreaterThanOrEqual(0);
      if (step === 1) expect(metrics["kl/reference"]).toBeCloseTo(0, 9);
    }
    expect(steps.at(-1)!.metrics["kl/reference"]).toBeGreaterThan(0);
    const [sample] = eventsOf(record, "sample");
    expect(sample!.prompt).toMatch(/^[A-H][a-h]$/);
    expect(sample!.completion).not.toBe("");
    expect([0, 1]).toContain(sample!.reward);
    const end = runEnd(record);
    expect(end).toMatchObject({ reason: "completed", step: 6, exported: join(output, "model") });
    expect(end.checkpoint).toBe(join(output, "checkpoints", "step-000006"));
    expect(await readdir(join(output, "checkpoints"))).toEqual(["step-000006"]);
    expect(await readdir(output)).toEqual(["checkpoints", "evaluations", "model"]);
  });

  const expectedMetrics = [
    ...["reward/mean", "reward/std", "loss/total", "loss/ppo", "loss/kl", "kl/reference", "ratio/max"],
    ...["ratio/clip-fraction", "optimizer/gradient-norm", "groups/without-signal", "groups/trained"],
    ...["episodes/unscored", "episodes/truncated", "length/completion-mean", "tokens/sampled", "tokens/trained"],
    ...["tokens/sampled-per-second", "time/rollout-ms", "time/update-ms"],
  ];

  it("mark demonstrations: no rewards and no sampled tokens", async () => {
    const config = letterConfig({ algorithm: { id: "sft" }, training: { steps: 2, sampleEvery: 1 } });
    const record = await runTraining({ output: temporaryFolder(), config });
    for (const { metrics } of eventsOf(record, "step")) {
      expect(Object.keys(metrics)).toEqual(expect.arrayContaining(["loss/total", "tokens/trained-per-second"]));
      expect(Object.keys(metrics).filter((name) => /^reward|sampled/.test(name))).toEqual([]);
    }
    const samples = eventsOf(record, "sample");
    expect(samples).toHaveLength(2);
    for (const sample of samples) {
      expect(sample).toMatchObject({ demonstration: true, prompt: expect.stringMatching(/^[A-H][a-h]$/) });
      expect(sample).not.toHaveProperty("reward");
    }
  });

  it("a second run of the same config has the same events", async () => {
    const run = async () => {
      const output = temporaryFolder();
      const config = letterConfig({ evaluation, algorithm: { id: "grpo", epochs: 2, minibatches: 3, klWeight: 0.1 } });
      const record = await runTraining({ output, config });
      return { events: record.events.map(withoutTimes), state: await checkpointState(output, 6) };
    };
    const [first, second] = [await run(), await run()];
    expect(second.state).toBe(first.state);
    expect(second.events.slice(0, -2)).toEqual(first.events.slice(0, -2));
  });

  it("another seed gives other events", async () => {
    const state = async (seed: number) => {
      const output = temporaryFolder();
      await runTraining({ output, config: letterConfig({ seed }) });
      return checkpointState(output, 6);
    };
    expect(await state(1)).not.toBe(await state(2));
  });

  it("concurrency does not change the weights", async () => {
    const state = async (concurrency: number) => {
      const output = temporaryFolder();
      await runTraining({ output, config: letterConfig({ rollout: { concurrency } }) });
      return checkpointState(output, 6);
    };
    expect(await state(3)).toBe(await state(256));
  });
});

describe("stopping and resuming", () => {
  const config = letterConfig({
    algorithm: { id: "grpo", groupSize: 4, epochs: 2, minibatches: 2, resampleRounds: 1, klWeight: 0.05 },
    checkpoint: { every: 2 },
    preflight: false,
    probe: { groups: 0 },
    training: { steps: 7, schedule: "cosine" },
  });
  const uninterrupted = async (): Promise<string> => {
    const output = temporaryFolder();
    expect((await runTraining({ output, config })).error).toBeUndefined();
    return checkpointState(output, 7);
  };

  /** Aborts at a given point, resumes, and expects the state of a run without an interruption. */
  async function expectSameAfterAbort(
    abortWhen: (abort: () => void) => Partial<Parameters<typeof runTraining>[0]>,
    stopped: number,
  ): Promise<void> {
    const output = temporaryFolder();
    const controller = new AbortController();
    const first = await runTraining({
      output,
      config,
      signal: controller.signal,
      ...abortWhen(() => controller.abort()),
    });
    expect(first.error).toBeUndefined();
    const end = runEnd(first);
    expect(end).toMatchObject({ reason: "aborted", step: stopped });
    expect(end.checkpoint).toBe(join(output, "checkpoints", `step-00000${stopped}`));
    const second = await runTraining({ output, config, resume: true });
    expect(second.error).toBeUndefined();
    expect(second.events[0]).toMatchObject({ type: "run-start", resumedFrom: stopped });
    expect(eventsOf(second, "step").map(({ step }) => step)).toEqual(
      Array.from({ length: 7 - stopped }, (_, i) => stopped + 1 + i),
    );
    expect(await checkpointState(output, 7)).toBe(await uninterrupted());
  }

  it("between two steps", () =>
    expectSameAfterAbort((abort) => ({ onEvent: (event) => event.type === "step" && event.step === 3 && abort() }), 3));

  it("before the first step", () => expectSameAfterAbort((abort) => ({ onEvent: abort }), 0));

  it("in the middle of a rollout", () => {
    let calls = 0;
    // A step has 32 to 64 episodes, including a second round of tasks.
    return expectSameAfterAbort(
      (abort) => ({
        environment: letterEnvironment({
          judge: (right) => {
            if (++calls === 70) abort();
            return Number(right);
          },
        }),
      }),
      1,
    );
  });

  it("during a gradient, and between two optimizer steps of a batch", async () => {
    // Four optimizer steps per batch: the fifth call is the first of step 2, the seventh is the third.
    await expectSameAfterAbort(
      (abort) => ({ backend: watchedBackend("forwardBackward", (call) => call === 5 && abort()) }),
      1,
    );
    await expectSameAfterAbort(
      (abort) => ({ backend: watchedBackend("forwardBackward", (call) => call === 7 && abort()) }),
      2,
    );
  });

  it("in the middle of an evaluation, which is then done once, before the next step", async () => {
    const evaluated = { ...config, evaluation: { split: "test[:4]", every: 2 } };
    const output = temporaryFolder();
    const controller = new AbortController();
    let judged: number | undefined;
    const environment = letterEnvironment({
      judge: (right) => {
        if (judged !== undefined && ++judged === 2) controller.abort();
        return Number(right);
      },
    });
    const onEvent = (event: { type: string; step?: number }): void => {
      if (event.type === "step" && event.step === 4) judged = 0;
    };
    const { signal } = controller;
    const first = await runTraining({ output, config: evaluated, environment, signal, onEvent });
    expect(runEnd(first)).toMatchObject({ reason: "aborted", step: 4 });
    expect(eventsOf(first, "evaluation").map(({ step }) => step)).toEqual([0, 2]);
    const second = await runTraining({ output, config: evaluated, resume: true });
    expect(second.events.slice(0, 3).map(({ type }) => type)).toEqual(["run-start", "evaluation", "step"]);
    expect(eventsOf(second, "evaluation").map(({ step }) => step)).toEqual([4, 6, 7]);
    const third = await runTraining({ output, config: evaluated, resume: true });
    expect(eventsOf(third, "evaluation")).toEqual([]);
    const others = { ...evaluated, evaluation: { split: "test[4:8]" } };
    const fourth = await runTraining({ output, config: others, resume: true });
    expect(eventsOf(fourth, "evaluation")).toMatchObject([{ step: 7, split: "test[4:8]" }]);
  });

  it("estimates the remaining time by the steps, without the time to open the model", async () => {
    const output = temporaryFolder();
    await runTraining({ output, config: letterConfig({ training: { steps: 2 } }) });
    const backend = watchedBackend("load", () => new Promise((resolve) => setTimeout(resolve, 500)));
    const record = await runTraining({
      output,
      backend,
      config: letterConfig({ training: { steps: 4 } }),
      resume: true,
    });
    const [step] = eventsOf(record, "step");
    const { metrics, elapsedMs, etaMs } = step!;
    expect(elapsedMs).toBeGreaterThan(490);
    expect(etaMs).toBeGreaterThanOrEqual(metrics["time/rollout-ms"]! + metrics["time/update-ms"]!);
    expect(etaMs).toBeLessThan(elapsedMs - 490);
  });

  it("continues from the newest checkpoint after a crash, and removes the crash's remains", async () => {
    const output = temporaryFolder();
    const crash = watchedBackend("forwardBackward", (call) => {
      if (call === 4 * 4 + 2) throw new Error("crash");
    });
    const first = await runTraining({ output, config, backend: crash });
    expect(first.error).toMatchObject({ message: "crash" });
    expect(runEnd(first)).toMatchObject({ reason: "failed", step: 4, error: { message: "crash" } });
    const second = await runTraining({ output, config, resume: true });
    expect(second.events[0]).toMatchObject({ resumedFrom: 4 });
    expect(await checkpointState(output, 7)).toBe(await uninterrupted());
  });

  it("refuses another run's checkpoint and names what differs", async () => {
    const output = temporaryFolder();
    await runTraining({ output, config });
    const other = { ...config, seed: 5, training: { ...config.training, batchSize: 9 } };
    const { error, events } = await runTraining({ output, config: other, resume: true });
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "checkpoint.unusable" });
    expect((error as Error).message).toMatch(/seed \(was 0, is 5\).*training\.batchSize \(was 8, is 9\)/);
    expect((error as Error).message).not.toContain("steps");
  });

  it("continues with more steps and other report settings", async () => {
    const output = temporaryFolder();
    const plain = letterConfig({ training: { steps: 3 } });
    await runTraining({ output, config: plain });
    const longer = {
      ...plain,
      training: { ...plain.training, steps: 5, sampleEvery: 1 },
      evaluation: { split: "test" },
      checkpoint: { keep: 9 },
      rollout: { concurrency: 7 },
    };
    const record = await runTraining({ output, config: longer, resume: true });
    expect(record.error).toBeUndefined();
    const straight = temporaryFolder();
    await runTraining({ output: straight, config: letterConfig({ training: { steps: 5 } }) });
    expect(await checkpointState(output, 5)).toBe(await checkpointState(straight, 5));
  });

  it("refuses to resume without a checkpoint, and to overwrite an existing run", async () => {
    const output = temporaryFolder();
    const nothing = await runTraining({ output, config, resume: true });
    expect(nothing.error).toMatchObject({ code: "checkpoint.unusable" });
    await runTraining({ output, config });
    const again = await runTraining({ output, config });
    expect(again.error).toMatchObject({ code: "checkpoint.unusable", message: expect.stringContaining("step 7") });
  });
});

describe("bad input", () => {
  const failure = async (options: Partial<Parameters<typeof runTraining>[0]>): Promise<unknown> => {
    const { error, events } = await runTraining({
      output: temporaryFolder(),
      config: letterConfig(),
      ...options,
    });
    expect(events.filter(({ type }) => !["run-start", "preflight", "probe", "run-end"].includes(type))).toEqual([]);
    return error;
  };

  it("an unknown algorithm and an unknown key name the nearest known one", async () => {
    expect(await failure({ config: letterConfig({ algorithm: { id: "gpro" } }) })).toMatchObject({
      code: "config.unknown-name",
      hint: expect.stringContaining('"grpo"'),
    });
    expect(await failure({ config: letterConfig({ algorithm: { id: "grpo", groupsize: 4 } }) })).toMatchObject({
      code: "config.invalid",
      hint: expect.stringContaining('"groupSize"'),
    });
  });

  it("settings that the backend does not support are refused before the run begins", async () => {
    expect(await failure({ config: letterConfig({ sampling: { topK: 5 } }) })).toMatchObject({
      code: "backend.unsupported",
      message: expect.stringContaining("sampling.topK"),
    });
    expect(
      await failure({ config: letterConfig({ model: { scratch: {}, adapter: { type: "lora" } } }) }),
    ).toMatchObject({ code: "backend.unsupported", message: expect.stringContaining("adapters") });
    expect(await failure({ config: letterConfig({ export: { format: "peft" } }) })).toMatchObject({
      code: "backend.unsupported",
    });
  });

  it("held-out tasks that are trained on are refused", async () => {
    expect(await failure({ config: letterConfig({ evaluation: { split: "train[3:9]" } }) })).toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining("also in"),
    });
  });

  it("held-out tasks are refused if an unbounded taskset yields one later", async () => {
    const letters = letterEnvironment();
    const [train, test] = [await letters.tasks("train"), await letters.tasks("test")];
    // After the tasks that are checked before the run begins.
    const endless: typeof train = {
      specificationVersion: "v1",
      name: "endless",
      length: "unbounded",
      get: (index) => (index === 10_000 ? test.get(0) : train.get(index % 64)),
    };
    const environment = { ...letters, tasks: async (split: string) => (split === "test" ? test : endless) };
    const config = letterConfig({ evaluation: { split: "test", limit: 1 }, training: { batchSize: 10_001 } });
    const { error } = await runTraining({ output: temporaryFolder(), environment, config });
    expect(error).toMatchObject({
      code: "data.malformed",
      message: expect.stringMatching(/split train is also in the evaluation split test/),
    });
  });

  it("SFT without demonstrations is refused", async () => {
    const { demonstrate: _, ...environment } = letterEnvironment();
    expect(await failure({ environment, config: letterConfig({ algorithm: { id: "sft" } }) })).toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("demonstrations"),
    });
  });

  it("the run ends if every episode fails", async () => {
    const environment = letterEnvironment({
      judge: () => {
        throw new Error("broken world");
      },
    });
    expect(await failure({ environment, config: letterConfig({ probe: { groups: 0 } }) })).toMatchObject({
      code: "environment.failed",
      message: expect.stringContaining("broken world"),
    });
  });

  it("a loss that is not finite names the step and the last good checkpoint", async () => {
    const output = temporaryFolder();
    const backend = changedBackend((model) => ({
      forwardBackward: async (...parameters) => {
        const result = await model.forwardBackward(...parameters);
        return model.version === 3 ? { ...result, loss: Number.NaN } : result;
      },
    }));
    const record = await runTraining({ output, backend, config: letterConfig({ checkpoint: { every: 2 } }) });
    const good = join(output, "checkpoints", "step-000002");
    expect(record.error).toMatchObject({
      code: "backend.not-finite",
      message: expect.stringContaining("Step 4"),
      hint: expect.stringContaining(good),
      data: { step: 4, checkpoint: good },
    });
    expect(runEnd(record)).toMatchObject({ reason: "failed", step: 3, checkpoint: good });
    expect(await readdir(join(output, "checkpoints"))).toEqual(["step-000002"]);
    expect(await readdir(output)).toEqual(["checkpoints"]);
  });

  it("a gradient that is not finite is the same error", async () => {
    const backend = changedBackend((model) => ({
      optimStep: async (...parameters) => ({
        ...(await model.optimStep(...parameters)),
        gradientNorm: Number.POSITIVE_INFINITY,
      }),
    }));
    expect(await failure({ backend })).toMatchObject({
      code: "backend.not-finite",
      message: expect.stringMatching(/Step 1: .*Infinity/),
      hint: expect.stringContaining("No checkpoint"),
    });
  });

  it("a full disk at the export leaves the checkpoint to resume from, and nothing half-written", async () => {
    const output = temporaryFolder();
    const backend = changedBackend((model) => ({
      export: async (folder, format) => {
        await model.export(folder, format);
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      },
    }));
    const record = await runTraining({ output, backend, config: letterConfig() });
    expect(record.error).toMatchObject({
      code: "checkpoint.write-failed",
      message: expect.stringContaining("the disk is full"),
    });
    expect(await readdir(output)).toEqual(["checkpoints"]);
    const resumed = await runTraining({ output, config: letterConfig(), resume: true });
    expect(runEnd(resumed)).toMatchObject({ reason: "completed", exported: join(output, "model") });
  });

  it("a full disk ends the run and leaves the previous checkpoint intact", async () => {
    const output = temporaryFolder();
    let saves = 0;
    const backend = changedBackend((model) => ({
      save: async (folder) => {
        await model.save(folder);
        if (++saves === 2) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      },
    }));
    const config = letterConfig({ checkpoint: { every: 2 }, preflight: false });
    const record = await runTraining({ output, backend, config });
    const previous = join(output, "checkpoints", "step-000002");
    expect(record.error).toMatchObject({
      code: "checkpoint.write-failed",
      message: expect.stringContaining("the disk is full"),
      hint: expect.stringContaining(previous),
    });
    expect(runEnd(record)).toMatchObject({ reason: "failed", checkpoint: previous });
    expect(await readdir(join(output, "checkpoints"))).toEqual(["step-000002"]);
    expect(JSON.parse(await readFile(join(previous, "manifest.json"), "utf8"))).toMatchObject({ step: 2 });
    expect((await runTraining({ output, config, resume: true })).error).toBeUndefined();
  });
});

describe("episodes that cannot be used", () => {
  it("unscored episodes are left out, counted and reported, and the run continues", async () => {
    let calls = 0;
    const environment = letterEnvironment({
      judge: (right) => {
        if (++calls % 4 === 0) throw Object.assign(new Error("judge is silent"), { code: "ECONNRESET" });
        return Number(right);
      },
    });
    const record = await runTraining({ output: temporaryFolder(), environment, config: letterConfig() });
    expect(record.error).toBeUndefined();
    for (const { metrics } of eventsOf(record, "step")) {
      expect(metrics["episodes/unscored"]).toBe(0.25);
      expect(metrics["tokens/trained"]).toBeLessThanOrEqual(48);
    }
    expect(eventsOf(record, "warning")[0]!.message).toMatch(/^16 of 64 episodes are unscored/);
  });

  it("a batch without a signal, after all resample rounds, changes nothing and warns unless all groups are solved", async () => {
    const output = temporaryFolder();
    const environment = letterEnvironment({ judge: () => 0.5 });
    const config = letterConfig({ algorithm: { id: "grpo", groupSize: 2, resampleRounds: 2 }, training: { steps: 1 } });
    const record = await runTraining({ output, environment, config });
    expect(record.error).toBeUndefined();
    const [step] = eventsOf(record, "step");
    expect(step!.metrics).toMatchObject({
      "groups/without-signal": 1,
      "groups/trained": 0,
      "episodes/count": 48,
      "optimizer/steps": 0,
      "tokens/trained": 0,
    });
    expect(step!.metrics).not.toHaveProperty("loss/total");
    expect(step!.metrics).not.toHaveProperty("tokens/trained-per-second");
    expect(eventsOf(record, "warning")[1]!.message).toMatch(/^None of the 24 groups has a signal/);
    const solved = letterEnvironment({ judge: () => 1 });
    const silent = await runTraining({ output: temporaryFolder(), environment: solved, config });
    const later = eventsOf(silent, "warning").filter(({ step }) => step > 0);
    expect(later.map(({ message }) => message)).toEqual([expect.stringMatching(/^Nothing was trained/)]);
    for (const untrained of [record, silent])
      expect(eventsOf(untrained, "run-end")[0]).toMatchObject({ untrained: true });
    expect(JSON.parse(await checkpointState(output, 1))).toMatchObject({ version: 0, rows: [] });
  });

  it("steps without a gradient train nothing, also if the run is resumed", async () => {
    const output = temporaryFolder();
    const backend = changedBackend((model) => ({
      optimStep: async (...call) => ({ ...(await model.optimStep(...call)), gradientNorm: 0 }),
    }));
    const config = letterConfig({ preflight: false, checkpoint: { every: 1 }, training: { steps: 3 } });
    const stop = new AbortController();
    await runTraining({
      ...{ output, config, backend, signal: stop.signal },
      onEvent: (event) => {
        if (event.type === "step" && event.step === 2) stop.abort();
      },
    });
    const record = await runTraining({ output, config, backend, resume: true });
    expect(eventsOf(record, "step")).toHaveLength(1);
    expect(eventsOf(record, "run-end")[0]).toMatchObject({ reason: "completed", untrained: true });
  });
});

/** Returns an event without the fields that differ between runs. */
function withoutTimes(event: object): object {
  const text = JSON.stringify(event, (key, value) =>
    /Ms$|-ms$|per-second$|^path$|^exported$/.test(key) ? undefined : value,
  );
  return JSON.parse(text);
}

/** The bigram backend with a hook before each call of one method. Calls are counted from 1. */
function watchedBackend(method: "forwardBackward" | "load", look: (call: number) => unknown): TrainingBackend {
  let calls = 0;
  return changedBackend((model) => {
    const watched = model[method].bind(model) as (...parameters: unknown[]) => Promise<unknown>;
    return {
      [method]: async (...parameters: unknown[]) => {
        await look(++calls);
        return watched(...parameters);
      },
    };
  });
}
