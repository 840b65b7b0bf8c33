import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { checkpointState, eventsOf, letterConfig, runTraining } from "./run-training.ts";

/** The letter environment, and the tasks of each step in the order in which their episodes begin. */
function watchedLetters(): { readonly environment: EnvironmentDefinition; readonly begun: string[] } {
  const letters = letterEnvironment() as EnvironmentDefinition;
  const begun: string[] = [];
  const environment: EnvironmentDefinition = {
    ...letters,
    create: async (...args) => {
      const instance = await letters.create(...args);
      const reset = instance.reset.bind(instance);
      instance.reset = async (options) => {
        begun.push((options.task as { readonly prompt: string }).prompt);
        return reset(options);
      };
      return instance;
    },
  };
  return { environment, begun };
}

const epochs = (changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput => {
  const { training, ...config } = letterConfig({ tasks: { split: "train[:10]" }, ...changes });
  const { steps: _, ...optimization } = training!;
  return {
    ...config,
    preflight: false,
    probe: { groups: 0 },
    training: { ...optimization, batchSize: 4, epochs: 2, ...changes.training },
  };
};

describe.each([
  ["sft", { id: "sft" }, 1, {}],
  ["grpo", { id: "grpo", groupSize: 2, dropGroupsWithoutSignal: false }, 2, {}],
  ["grpo that plays ahead", { id: "grpo", groupSize: 2 }, 2, { maxStaleness: 1 }],
] as const)("%s", (_, algorithm, groupSize, rollout) => {
  it("plays every task once per epoch, with the remaining tasks in the last batch", async () => {
    const { environment, begun } = watchedLetters();
    const config = epochs({ algorithm, rollout });
    const run = await runTraining({ output: temporaryFolder(), environment, config });
    expect(run.error).toBeUndefined();
    const [start] = eventsOf(run, "run-start");
    expect(start!.steps).toBe(6);
    const counted = eventsOf(run, "step").map(({ metrics }) => metrics["episodes/count"]! / groupSize);
    expect(counted).toEqual([4, 4, 2, 4, 4, 2]);
    const passes = [begun.slice(0, 10 * groupSize), begun.slice(10 * groupSize)];
    for (const pass of passes) {
      expect(pass).toHaveLength(10 * groupSize);
      expect(new Set(pass).size).toBe(10);
    }
  });
});

it("a learning-rate schedule ends after the last step of the last epoch", async () => {
  const config = epochs({ algorithm: { id: "sft" }, training: { schedule: "linear", warmupSteps: 2 } });
  const run = await runTraining({ output: temporaryFolder(), config });
  const rates = eventsOf(run, "step").map(({ metrics }) => metrics["optimizer/learning-rate"]!);
  for (const [i, share] of [0.5, 1, 0.8, 0.6, 0.4, 0.2].entries()) expect(rates[i]).toBeCloseTo(0.6 * share, 12);
});

it("a run that was interrupted in an epoch ends with exactly the same weights", async () => {
  const config = epochs({ training: { schedule: "cosine" } });
  const [whole, stopped] = [temporaryFolder(), temporaryFolder()];
  await runTraining({ output: whole, config });
  const abort = new AbortController();
  await runTraining({
    output: stopped,
    config,
    signal: abort.signal,
    onEvent: (event) => {
      if (event.type === "step" && event.step === 4) abort.abort();
    },
  });
  const resumed = await runTraining({ output: stopped, config, resume: true });
  expect(eventsOf(resumed, "run-start")[0]).toMatchObject({ resumedFrom: 4, steps: 6 });
  expect(await checkpointState(stopped, 6)).toBe(await checkpointState(whole, 6));
  // More epochs are the same run. With steps instead, it is another run, whose batches differ.
  const more = await runTraining({
    output: stopped,
    config: epochs({ training: { schedule: "cosine", epochs: 3 } }),
    resume: true,
  });
  expect(more.error).toBeUndefined();
  expect(eventsOf(more, "step").map(({ step }) => step)).toEqual([7, 8, 9]);
  const { epochs: _, ...inSteps } = config.training!;
  const other = await runTraining({
    output: stopped,
    config: { ...config, training: { ...inSteps, steps: 12 } },
    resume: true,
  });
  expect(other.error).toMatchObject({
    code: "checkpoint.unusable",
    message: expect.stringContaining("training.batchesEndWithEpochs (was true, is absent)"),
  });
});

describe("are refused", () => {
  const endless: EnvironmentDefinition = {
    ...(letterEnvironment() as EnvironmentDefinition),
    tasks: async () =>
      generatedTaskset({ name: "endless", seed: 1, length: "unbounded", generate: () => ({ prompt: "Xa" }) }),
  };
  it.each<[string, Partial<TrainingConfigInput>, RegExp, EnvironmentDefinition?]>([
    ["together with steps", { training: { steps: 3, epochs: 2 } }, /training\.epochs.*either steps or epochs/s],
    ["for an unbounded taskset", {}, /the taskset endless is unbounded/, endless],
    [
      "under a curriculum",
      { tasks: { curriculum: { by: "prompt.length", steps: 3 } } },
      /a curriculum plays easy tasks more often/,
    ],
    ["with resampling", { algorithm: { id: "dapo", groupSize: 2 } }, /replaces groups without a signal/],
    ["as a half", { training: { epochs: 0.5 } }, /training\.epochs/],
  ])("%s", async (_, changes, message, environment) => {
    const run = await runTraining({
      output: temporaryFolder(),
      ...(environment === undefined ? {} : { environment }),
      config: epochs(changes),
    });
    expect(run.error).toMatchObject({ code: "config.invalid", message: expect.stringMatching(message) });
    expect(run.events).toEqual([]);
  });
});
