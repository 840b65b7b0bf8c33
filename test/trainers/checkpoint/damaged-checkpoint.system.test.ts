import { cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { resumedRun } from "../../../cli/resumed-run.ts";
import { bestCheckpointPath } from "../../../trainers/checkpoint/best-checkpoint.ts";
import { readManifest } from "../../../trainers/checkpoint/checkpoint-manifest.ts";
import { openModels } from "../../../trainers/models/open-models.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { createBigramBackend } from "../bigram-backend.ts";
import { checkpointState, eventsOf, letterConfig, runEnd, runTraining } from "../run-training.ts";

const evaluation = { split: "test", every: 2 };
const config = (steps: number) =>
  letterConfig({
    evaluation,
    checkpoint: { every: 2, keep: 9, best: { metric: "evaluation/reward/mean", mode: "max" } },
    rollout: { trace: true },
    training: { steps, batchSize: 8 },
  });

/** A run that was stopped after step 4, with checkpoints of steps 2 and 4, and its expected result after step 6. */
async function stoppedRun(folder: string): Promise<{ readonly stopped: string; readonly expected: string }> {
  const stopped = join(folder, "stopped");
  expect(runEnd(await runTraining({ config: config(4), output: stopped })).reason).toBe("completed");
  const straight = join(folder, "straight");
  await cp(stopped, straight, { recursive: true });
  await runTraining({ config: config(6), output: straight, resume: true });
  return { stopped, expected: await checkpointState(straight, 6) };
}

const damages: Readonly<Record<string, (path: string) => Promise<void>>> = {
  truncated: async (path) => truncate(path, Math.floor((await readFile(path)).length / 2)),
  empty: (path) => truncate(path, 0),
  missing: (path) => rm(path),
  zeroed: async (path) => writeFile(path, new Uint8Array((await readFile(path)).length)),
  "one bit different at its beginning": (path) => flip(path, 0),
  "one bit different in its middle": (path) => flip(path, 0.5),
  "one bit different at its end": (path) => flip(path, 0.99),
};

async function flip(path: string, place: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[Math.floor(place * bytes.length)]! ^= 1;
  await writeFile(path, bytes);
}

const step = (output: string, number: number): string =>
  join(output, "checkpoints", `step-${String(number).padStart(6, "0")}`);

describe("a damaged checkpoint", () => {
  let stopped: string;
  let expected: string;
  let folder: string;
  beforeAll(async () => {
    folder = temporaryFolder();
    ({ stopped, expected } = await stoppedRun(folder));
  });
  const copied = async (): Promise<string> => {
    const output = join(temporaryFolder(), "run");
    await cp(stopped, output, { recursive: true });
    return output;
  };
  const warningsOf = (record: Awaited<ReturnType<typeof runTraining>>): string[] =>
    eventsOf(record, "warning").map(({ message }) => message);

  for (const file of ["manifest.json", "model/bigram.json"]) {
    it.each(
      Object.entries(damages),
    )(`is skipped for the previous one, with a warning: ${file} is %s`, async (_, damage) => {
      const output = await copied();
      await damage(join(step(output, 4), file));
      const record = await runTraining({ config: config(6), output, resume: true });
      expect(runEnd(record).reason).toBe("completed");
      expect(eventsOf(record, "run-start")[0]!.resumedFrom).toBe(2);
      expect(warningsOf(record).filter((message) => message.includes("step-000004 is damaged"))).toHaveLength(1);
      expect(await checkpointState(output, 6)).toBe(expected);
      expect((await readdir(join(output, "checkpoints"))).toSorted()).toEqual([
        ...["best", "step-000002", "step-000004", "step-000004.damaged", "step-000006"],
      ]);
      const again = await runTraining({ config: config(6), output, resume: true });
      expect(warningsOf(again)).toEqual([]);
    });
  }

  it("is an error with a remedy if all are damaged, and nothing is changed", async () => {
    const output = await copied();
    await flip(join(step(output, 4), "model/bigram.json"), 0.5);
    await rm(join(step(output, 2), "manifest.json"));
    for (const resume of [true, false]) {
      const { error } = await runTraining({ config: config(6), output, resume });
      expect(error).toMatchObject({ code: "checkpoint.unusable" });
    }
    expect((await runTraining({ config: config(6), output, resume: true })).error).toMatchObject({
      message: expect.stringMatching(/are damaged: step-000004 \(.*bigram\.json.*\), step-000002 \(manifest\.json.*\)/),
      hint: expect.stringContaining("start the run again"),
    });
    expect((await readdir(join(output, "checkpoints"))).toSorted()).toEqual(["best", "step-000002", "step-000004"]);
  });

  it("does not count as newer than the one that is resumed", async () => {
    const output = await copied();
    const older = step(output, 2);
    await expect(resumedRun(older, { stages: [undefined] })).rejects.toMatchObject({ code: "config.invalid" });
    await flip(join(step(output, 4), "model/bigram.json"), 0.5);
    for (const path of [older, step(output, 4)]) expect(await resumedRun(path, { stages: [undefined] })).toBe(output);
    await rm(join(step(output, 4), "manifest.json"));
    expect(await resumedRun(step(output, 4), { stages: [undefined] })).toBe(output);
  });

  it("is not opened as a model, and no other is opened instead", async () => {
    const output = await copied();
    await rm(join(output, "model"), { recursive: true, force: true });
    await flip(join(step(output, 4), "model/bigram.json"), 0.5);
    for (const path of [output, step(output, 4)]) {
      await expect(openModels(path, { backend: createBigramBackend() })).rejects.toMatchObject({
        code: "checkpoint.unusable",
        message: expect.stringContaining("step-000004 is damaged"),
        hint: expect.stringContaining("Name another checkpoint"),
      });
    }
  });

  it("is renamed with a warning and not exported if it is the best", async () => {
    const output = await copied();
    await flip(join(bestCheckpointPath(join(output, "checkpoints")), "model/bigram.json"), 0.5);
    const record = await runTraining({ config: config(6), output, resume: true });
    expect(warningsOf(record)).toEqual([expect.stringContaining("The best checkpoint is damaged")]);
    expect(await checkpointState(output, 6)).toBe(expected);
    expect(await readdir(join(output, "checkpoints"))).toContain("best.damaged");
  });

  it("is detected for every tried bit of its manifest that has a meaning", async () => {
    const output = await copied();
    const path = join(step(output, 4), "manifest.json");
    const whole = await readFile(path);
    const manifest = await readManifest(step(output, 4));
    let noticed = 0;
    for (let at = 0; at < whole.length; at += 7) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 1 << (at % 8);
      await writeFile(path, bytes);
      const read = await readManifest(step(output, 4)).catch(() => undefined);
      if (read === undefined) noticed += 1;
      else expect(read).toEqual(manifest);
    }
    expect(noticed).toBeGreaterThan(whole.length / 14);
  });
});

describe("a trace that --resume finds", () => {
  const resumedWith = async (change: (path: string) => Promise<void>): Promise<string[]> => {
    const { stopped } = await stoppedRun(temporaryFolder());
    await change(join(stopped, "trace.jsonl"));
    const record = await runTraining({ config: config(6), output: stopped, resume: true });
    expect(runEnd(record).reason).toBe("completed");
    return eventsOf(record, "warning").map(({ message }) => message);
  };

  it.each<[string, (path: string) => Promise<void>, string]>([
    ["missing", (path) => rm(path), "trace.jsonl is missing"],
    ["halved", damages.truncated!, "episodes of earlier steps are missing"],
    ["empty", (path) => truncate(path, 0), "has 0 bytes"],
  ])("%s is reported", async (_, change, message) => {
    expect(await resumedWith(change)).toEqual([expect.stringContaining(message)]);
  });

  it("whole, or with more than the checkpoint knows, is not", async () => {
    expect(await resumedWith(async () => undefined)).toEqual([]);
    expect(await resumedWith((path) => writeFile(path, '{"torn', { flag: "a" }))).toEqual([]);
  });
});
