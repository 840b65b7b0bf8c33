import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Episode } from "../../src/contract/episode.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { changedBackend } from "./changed-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { checkpointState, eventsOf, letterConfig, runEnd, runTraining } from "./run-training.ts";

const config = (changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput =>
  letterConfig({
    rollout: { maxStaleness: 1, trace: true },
    checkpoint: { every: 2 },
    probe: { groups: 0 },
    training: { steps: 6, batchSize: 8 },
    ...changes,
  });

/** All training episodes of a run, in order. */
async function episodesOf(output: string): Promise<Episode[]> {
  return Array.fromAsync(readTrace(join(output, "trace.jsonl")));
}

describe("rollout.maxStaleness", () => {
  it("samples each batch except the first with the weights before the last update", async () => {
    const output = temporaryFolder();
    const { error } = await runTraining({ output, config: config() });
    expect(error).toBeUndefined();
    const versions = (await episodesOf(output)).map(({ agents }) => agents.agent!.nodes.at(-1)!.tokens!.weightsVersion);
    const perStep = Array.from({ length: 6 }, (_, step) => [...new Set(versions.slice(64 * step, 64 * step + 64))]);
    expect(perStep).toEqual([[0], [0], [1], [2], [3], [4]]);
  });

  it("reports the staleness, is repeatable, and gives other weights than maxStaleness 0", async () => {
    const outputs = await Promise.all([temporaryFolder(), temporaryFolder(), temporaryFolder()]);
    const record = await runTraining({ output: outputs[0], config: config() });
    expect(eventsOf(record, "step").map(({ metrics }) => metrics["rollout/staleness"])).toEqual([
      undefined,
      1,
      1,
      1,
      1,
      1,
    ]);
    await runTraining({ output: outputs[1], config: config() });
    await runTraining({ output: outputs[2], config: config({ rollout: {} }) });
    const [first, second, fresh] = await Promise.all(outputs.map((output) => checkpointState(output, 6)));
    expect(second).toBe(first);
    expect(fresh).not.toBe(first);
  });

  it("corrects stale samples by importance ratios, capped at 2 unless the algorithm sets a cap", async () => {
    const weights = async (settings: object): Promise<string> => {
      const output = temporaryFolder();
      const algorithm = { id: "reinforce", groupSize: 8, ...settings };
      await runTraining({ output, config: config({ algorithm, training: { steps: 4, batchSize: 8 } }) });
      return checkpointState(output, 4);
    };
    const [usual, same, other] = [
      await weights({}),
      await weights({ importanceCap: 2 }),
      await weights({ importanceCap: 0.5 }),
    ];
    expect(same).toBe(usual);
    expect(other).not.toBe(usual);
  });

  it("still learns", async () => {
    const record = await runTraining({
      output: temporaryFolder(),
      config: config({ training: { steps: 40, batchSize: 8 }, evaluation: { split: "test", limit: 64 } }),
    });
    const [before, after] = eventsOf(record, "evaluation").map(({ metrics }) => metrics.accuracy!);
    expect(after).toBeGreaterThan(before! + 0.5);
  });

  it("plays the next batch during an update", async () => {
    let played = 0;
    const backend = changedBackend((model) => ({
      optimStep: async (...args) => {
        // The first step learns from sixteen episodes. If playing waited for it, no other episode would begin.
        await expect.poll(() => played).toBeGreaterThan(16);
        return model.optimStep(...args);
      },
    }));
    const environment = letterEnvironment({
      judge: (right) => {
        played += 1;
        return Number(right);
      },
    });
    const record = await runTraining({
      output: temporaryFolder(),
      backend,
      environment: environment as EnvironmentDefinition,
      config: config({ preflight: false, training: { steps: 3, batchSize: 2 } }),
    });
    expect(runEnd(record)).toMatchObject({ reason: "completed" });
    expect(played).toBe(48);
  });

  it("warns on resume that the weights will differ, and plays every task once", async () => {
    const output = temporaryFolder();
    const stop = new AbortController();
    const first = await runTraining({
      output,
      config: config(),
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type === "step" && event.step === 3) stop.abort();
      },
    });
    expect(runEnd(first).reason).toBe("aborted");
    const second = await runTraining({ output, config: config(), resume: true });
    expect(runEnd(second)).toMatchObject({ reason: "completed", step: 6 });
    expect(eventsOf(second, "warning")[0]!.message).toContain("rollout.maxStaleness");
    const tasks = (await episodesOf(output)).map(({ task }) => task.id);
    expect(tasks).toHaveLength(6 * 64);
    // 48 of 64 tasks in the first pass, eight episodes each.
    expect(new Set(tasks).size).toBe(48);
  });

  it("stops playing ahead if the update fails", async () => {
    const backend = changedBackend((model) => ({
      optimStep: async (params, options) => {
        if (options.stepId === 2) throw new Error("no step");
        return model.optimStep(params, options);
      },
    }));
    const { error } = await runTraining({ output: temporaryFolder(), backend, config: config() });
    expect(error).toMatchObject({ message: "no step" });
  });
});
