import { cp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { letterEnvironment } from "../letter-environment.ts";
import { checkpointState, eventsOf, letterConfig, runEnd, runTraining } from "../run-training.ts";

/** Learns for a while and then the opposite. Its best evaluation is in the middle. */
function turningEnvironment(turn: number): EnvironmentDefinition {
  let judged = 0;
  return letterEnvironment({
    judge: (right) => (judged++ < turn || Number.isNaN(turn) ? Number(right) : Number(!right)),
  }) as EnvironmentDefinition;
}

const config = (changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput =>
  letterConfig({
    evaluation: { split: "test", every: 2, temperature: 1, limit: 32 },
    training: { steps: 12, batchSize: 16 },
    ...changes,
    checkpoint: { every: 3, keep: 1, best: {}, ...changes.checkpoint },
  });

const bestOf = async (output: string): Promise<{ step: number; metrics: Record<string, number>; state: string }> => {
  const folder = join(output, "checkpoints", "best");
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
  return { ...manifest, state: await readFile(join(folder, "model", "bigram.json"), "utf8") };
};

const rowsOf = (state: string): [context: number, row: unknown][] =>
  JSON.parse(state).rows.map(([context, row]: [number, unknown]) => [context, row]);
const exportedRows = async (output: string): Promise<[number, unknown][]> =>
  rowsOf(await readFile(join(output, "model", "bigram.json"), "utf8"));

describe("checkpoint.best", () => {
  it("keeps the model of the best evaluation, which keep never deletes", async () => {
    const output = temporaryFolder();
    // Each step scores 128 episodes and each evaluation 32. After 6 steps, right answers become wrong.
    const environment = turningEnvironment(32 + 3 * (2 * 128 + 32));
    const record = await runTraining({ output, environment, config: config() });
    expect(record.error).toBeUndefined();
    const evaluations = eventsOf(record, "evaluation");
    const top = evaluations.reduce((a, b) => (b.metrics.accuracy! > a.metrics.accuracy! ? b : a));
    expect(top.step).toBeLessThan(12);
    expect(top.metrics.accuracy).toBeGreaterThan(evaluations.at(-1)!.metrics.accuracy!);
    const best = await bestOf(output);
    expect(best.step).toBe(top.step);
    expect(best.metrics["evaluation/accuracy"]).toBe(top.metrics.accuracy);
    expect((await readdir(join(output, "checkpoints"))).toSorted()).toEqual(["best", "step-000012"]);
    const events = eventsOf(record, "checkpoint").filter(({ path }) => path.endsWith("best"));
    expect(events.at(-1)!.step).toBe(top.step);
  });

  it("keeps the lowest value with mode min", async () => {
    const output = temporaryFolder();
    const record = await runTraining({ output, config: config({ checkpoint: { best: { mode: "min" } } }) });
    const evaluations = eventsOf(record, "evaluation");
    const least = evaluations.reduce((a, b) => (b.metrics.accuracy! < a.metrics.accuracy! ? b : a));
    expect((await bestOf(output)).step).toBe(least.step);
  });

  it("is kept on resume: a later and worse evaluation does not replace it", async () => {
    const [whole, parted] = [temporaryFolder(), temporaryFolder()];
    await runTraining({ output: whole, config: config() });
    await runTraining({ output: parted, config: config({ training: { steps: 6, batchSize: 16 } }) });
    const { error } = await runTraining({ output: parted, config: config(), resume: true });
    expect(error).toBeUndefined();
    expect(await bestOf(parted)).toMatchObject({
      step: (await bestOf(whole)).step,
      state: (await bestOf(whole)).state,
    });
    const kept = await bestOf(parted);
    const spoiled = turningEnvironment(0);
    const longer = config({ training: { steps: 18, batchSize: 16 } });
    await runTraining({ output: parted, environment: spoiled, config: longer, resume: true });
    expect(await bestOf(parted)).toEqual(kept);
  });

  it("is found again after the process was killed between two renames", async () => {
    const output = temporaryFolder();
    await runTraining({ output, config: config() });
    const kept = await bestOf(output);
    const folder = join(output, "checkpoints");
    await rename(join(folder, "best"), join(folder, "best.next"));
    await cp(join(folder, "best.next"), join(folder, "best.partial"), { recursive: true });
    await rm(join(folder, "best.partial", "manifest.json"));
    const longer = config({ training: { steps: 13, batchSize: 16, learningRate: 1e-9 } });
    // With another learning rate it is another run. Only the folder is checked.
    await runTraining({ output, config: longer, resume: true });
    const again = config({ training: { steps: 13, batchSize: 16 } });
    expect((await runTraining({ output, config: again, resume: true })).error).toBeUndefined();
    expect((await bestOf(output)).metrics["evaluation/accuracy"]).toBeGreaterThanOrEqual(
      kept.metrics["evaluation/accuracy"]!,
    );
    expect((await readdir(folder)).toSorted()).toEqual(["best", "step-000013"]);
  });

  it("is exported by export.from best", async () => {
    const [best, last] = [temporaryFolder(), temporaryFolder()];
    const environment = (): EnvironmentDefinition => turningEnvironment(32 + 3 * (2 * 128 + 32));
    const chosen = config({ export: { from: "best" } });
    const record = await runTraining({ output: best, environment: environment(), config: chosen });
    await runTraining({ output: last, environment: environment(), config: config() });
    const { step, state } = await bestOf(best);
    expect(step).toBeLessThan(12);
    expect(runEnd(record)).toMatchObject({ reason: "completed", exported: join(best, "model"), exportedStep: step });
    expect(await exportedRows(best)).toEqual(rowsOf(state));
    // The run itself continues from its last step.
    expect(await checkpointState(best, 12)).toBe(await checkpointState(last, 12));
    expect(await exportedRows(last)).toEqual(rowsOf(await checkpointState(last, 12)));
    expect(await exportedRows(last)).not.toEqual(await exportedRows(best));
    // A complete run exports again with the current settings.
    const again = await runTraining({ output: last, environment: environment(), config: chosen, resume: true });
    expect(runEnd(again)).toMatchObject({ exportedStep: step });
    expect(await exportedRows(last)).toEqual(rowsOf(state));
  });

  it("is needed for export.from best", async () => {
    const { checkpoint: _, ...without } = config({ export: { from: "best" } });
    const { events, error } = await runTraining({ output: temporaryFolder(), config: without });
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: "config.invalid", hint: expect.stringContaining("checkpoint.best") });
  });

  it("needs an evaluation and an existing metric", async () => {
    const without = await runTraining({ output: temporaryFolder(), config: config({ evaluation: {} }) });
    expect(without.error).toMatchObject({ code: "config.invalid", hint: expect.stringContaining("evaluation.split") });
    const mistyped = await runTraining({
      output: temporaryFolder(),
      config: config({ checkpoint: { best: { metric: "evaluation/acuracy" } } }),
    });
    expect(mistyped.error).toMatchObject({
      code: "config.unknown-name",
      hint: expect.stringContaining("evaluation/accuracy"),
    });
  });
});

describe("held-out tasks", () => {
  it("are refused if one of them is trained on", async () => {
    const overlapping = config({ tasks: { split: "train[:40]" }, evaluation: { split: "train[39:]" } });
    const { error } = await runTraining({ output: temporaryFolder(), config: overlapping });
    expect(error).toMatchObject({
      code: "data.malformed",
      message: expect.stringMatching(/^1 tasks? of .*39/),
      hint: expect.stringContaining("slices that do not overlap"),
    });
    const apart = config({ tasks: { split: "train[:40]" }, evaluation: { split: "train[40:]" } });
    expect((await runTraining({ output: temporaryFolder(), config: apart })).error).toBeUndefined();
  });
});
