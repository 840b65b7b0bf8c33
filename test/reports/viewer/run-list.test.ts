import { appendFile, mkdir, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import type { EvaluationView, RunSummary, TrainingView } from "../../../reports/viewer/view-source.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";
import { lockRun } from "../../../src/core/files/run-lock.ts";
import { type RunFolder, runFolder } from "../../../src/evaluation/log/run-folder.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { evaluatePair, trainingEvents, writeTraining } from "./runs.ts";

const step = (number: number, metrics: Readonly<Record<string, number>>): TrainingEvent => ({
  ...{ type: "step", step: number, steps: 20_000, metrics, elapsedMs: number, etaMs: 0 },
});
const start = [...trainingEvents(1)][0]!;
const end = (number: number, reason: "completed" | "aborted"): TrainingEvent => ({
  ...{ type: "run-end", reason, step: number, elapsedMs: number },
});

describe("the list entry of a training", () => {
  it("of megabytes has its last figures, and a trend that rises with its reward", async () => {
    const folder = temporaryFolder();
    const padding = Object.fromEntries(Array.from({ length: 20 }, (_, place) => [`metric/${place}`, place / 7]));
    const steps = Array.from({ length: 6_000 }, (_, n) => step(n + 1, { ...padding, "reward/mean": n + 1 }));
    await writeTraining(folder, [start, ...steps]);
    expect((await readFile(join(folder, "metrics.jsonl"))).length).toBeGreaterThan(2 << 20);
    const [line] = (await folderSource(folder).runs()).runs;
    expect(line).toMatchObject({ done: 6_000, total: 20_000, status: "stopped", scores: { reward: 6_000 } });
    const trend = line!.trend?.values ?? [];
    expect(line!.trend?.of).toBe("reward");
    expect(trend).toHaveLength(40);
    expect([...trend].sort((one, other) => one - other)).toEqual(trend);
    expect(trend[0]).toBeLessThan(600);
    expect(trend.at(-1)).toBeGreaterThan(5_400);
  });

  it("has no accuracy if its environment does not state which episodes are correct", async () => {
    const folder = temporaryFolder();
    const metrics = { "reward/mean": 3.5, accuracy: 0, "accuracy/over-all": 0 };
    const evaluation: TrainingEvent = { type: "evaluation", step: 1, split: "test", metrics };
    const told = { ...start, definesCorrect: false } as TrainingEvent;
    for (const [begin, accuracy] of [
      [start, 0],
      [told, undefined],
    ] as const) {
      await writeTraining(folder, [begin, step(1, { "reward/mean": 3 }), evaluation]);
      const source = folderSource(folder);
      expect((await source.runs()).runs[0]!.scores).toMatchObject({ reward: 3.5, accuracy });
      const { evaluations, tiles } = (await source.run(".")) as TrainingView;
      expect(evaluations[0]!.metrics.accuracy).toBe(accuracy);
      expect(tiles.some(({ label }) => label.startsWith("Accuracy"))).toBe(accuracy === 0);
    }
  });

  it("is read again if the file has changed, and only complete lines count", async () => {
    const folder = temporaryFolder();
    const source = folderSource(folder);
    const line = async () => (await source.runs()).runs[0]!;
    await writeTraining(folder, [start, step(1, { "reward/mean": 0.25 })]);
    expect(await line()).toMatchObject({ done: 1, scores: { reward: 0.25 } });
    const text = JSON.stringify(step(2, { "reward/mean": 0.5 }));
    await appendFile(join(folder, "metrics.jsonl"), text.slice(0, 60));
    expect(await line()).toMatchObject({ done: 1, scores: { reward: 0.25 } });
    await appendFile(join(folder, "metrics.jsonl"), `${text.slice(60)}\n`);
    expect(await line()).toMatchObject({
      done: 2,
      scores: { reward: 0.5 },
      trend: { of: "reward", values: [0.25, 0.5] },
    });
  });

  it("has not ended if it was resumed after its end", async () => {
    const folder = temporaryFolder();
    const events = [start, step(1, { "loss/total": 2 }), end(1, "aborted")];
    await writeTraining(folder, events);
    const source = folderSource(folder);
    expect((await source.runs()).runs).toMatchObject([{ status: "interrupted", scores: { loss: 2 } }]);
    await writeTraining(folder, [...events, { ...start, resumedFrom: 1 } as TrainingEvent]);
    expect((await source.runs()).runs).toMatchObject([
      { status: "stopped", done: 1, total: (start as { steps: number }).steps },
    ]);
    const further = [step(2, { "loss/total": Number.NaN }), end(2, "completed")];
    await writeTraining(folder, [...events, { ...start, resumedFrom: 1 } as TrainingEvent, ...further]);
    expect((await source.runs()).runs).toMatchObject([{ status: "completed", done: 2 }]);
  });

  it.each([
    ["a line of a wrong form", '{"type":"step","step":"<b>","steps":{},"metrics":[]}\n'],
    ["texts that look like events", '{"type":"sample","step":1,"prompt":"{\\"type\\":\\"step\\"","completion":""}\n'],
    ["no JSON", "\u0000\u0000\n"],
  ])("ignores %s", async (_, text) => {
    const folder = temporaryFolder();
    await writeTraining(folder, [start, step(3, { "reward/mean": 0.75 })]);
    await appendFile(join(folder, "metrics.jsonl"), text);
    expect((await folderSource(folder).runs()).runs).toMatchObject([{ done: 3, scores: { reward: 0.75 } }]);
  });

  it("describes the error of a file that is not a training's", async () => {
    const folder = temporaryFolder();
    for (const [name, text] of [
      ["a", "\n"],
      ["b", '{"type":"step"}\n'],
      ["c", "x".repeat(3 << 20)],
    ] as const) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "metrics.jsonl"), text);
    }
    const { runs } = await folderSource(folder).runs();
    expect(runs).toHaveLength(3);
    for (const { problem } of runs) expect(problem).toContain("does not begin with a lyceum-metrics header");
  });
});

describe("the list entry of an evaluation", () => {
  it("is that of its summary, with any number of tasks, and however the file is formatted", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 3 });
    const { summary: path } = runFolder(folder);
    const summary = JSON.parse(await readFile(path, "utf8"));
    const expected = { status: "completed", done: 3, scores: { reward: summary.metrics.reward.value } };
    const long = { ...summary, tasks: Array.from({ length: 3_000 }, () => summary.tasks[0]) };
    const levels = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`level ${n}`, summary.levels.easy]));
    const named = { ...long, name: 'x,\n  "tasks": [' };
    for (const text of [
      JSON.stringify(long, undefined, 2),
      JSON.stringify(long),
      JSON.stringify({ ...long, levels }, undefined, 2),
      JSON.stringify(named, undefined, 2),
    ]) {
      await writeFile(path, text);
      expect((await folderSource(folder).runs()).runs).toMatchObject([expected]);
    }
  });

  it("is read again if its summary has changed, and describes its error", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 3 });
    const { summary: path } = runFolder(folder);
    const source = folderSource(folder);
    const text = await readFile(path, "utf8");
    expect((await source.runs()).runs).toMatchObject([{ done: 3 }]);
    await writeFile(path, text.replaceAll(/"(episodes|played)": 3/g, '"$1": 2'));
    await utimes(path, 1, 1);
    expect((await source.runs()).runs).toMatchObject([{ done: 2 }]);
    await writeFile(path, text.slice(0, 300));
    expect((await source.runs()).runs[0]!.problem).toContain("summary.json cannot be read");
  });
});

/** A folder with an evaluation of nine episodes that was killed. */
async function killedEvaluation(): Promise<{ readonly folder: string; readonly files: RunFolder }> {
  const folder = temporaryFolder();
  await evaluatePair(folder, { tasks: 9 });
  const files = runFolder(folder);
  await rm(files.summary);
  return { folder, files };
}

describe("the list entry of an evaluation without a summary", () => {
  it("has the figures of the run's page", async () => {
    const { folder } = await killedEvaluation();
    const source = folderSource(folder);
    const { counts, metrics } = (await source.run(".")) as EvaluationView;
    expect(counts).toMatchObject({ played: 9, unscored: 1 });
    const scores = { reward: metrics.reward!.value, accuracy: metrics.accuracy!.value };
    expect((await source.runs()).runs).toMatchObject([{ status: "stopped", done: 9, total: 9, scores }]);
  });

  it.each([
    ["a line that is cut", (text: string) => text.slice(0, -20), 8],
    ["a line without its end", (text: string) => text.slice(0, -1), 8],
    ["a line that is not JSON", (text: string) => text.replace("\n", "\n{]\n"), 1],
    ["an episode that was played twice", (text: string) => `${text}${text.split("\n")[0]}\n`, 9],
    ["lines of two values, and of none", (text: string) => `${text}0,0\n\n`, 9],
    ["no line", () => "", 0],
  ])("counts like that page: %s", async (_, change, done) => {
    const { folder, files } = await killedEvaluation();
    await writeFile(files.index, change(await readFile(files.index, "utf8")));
    const source = folderSource(folder);
    expect((await source.runs()).runs).toMatchObject([{ done }]);
    expect(await source.run(".")).toMatchObject({ counts: { played: done } });
  });

  it("omits episodes that are not written yet", async () => {
    const { folder, files } = await killedEvaluation();
    const source = folderSource(folder);
    const episodes = await readFile(files.episodes);
    await truncate(files.episodes, episodes.length - 1);
    const [{ done }] = (await source.runs()).runs as [RunSummary];
    expect(done).toBeLessThan(9);
    await writeFile(files.episodes, episodes);
    expect((await source.runs()).runs).toMatchObject([{ done: 9 }]);
  });

  it("counts again only if its index has changed, and has the status of its process", async () => {
    const { folder, files } = await killedEvaluation();
    const source = folderSource(folder);
    await utimes(files.index, 1, 1);
    expect((await source.runs()).runs).toMatchObject([{ status: "stopped", done: 9 }]);
    const text = await readFile(files.index, "utf8");
    await writeFile(files.index, " ".repeat(text.length));
    await utimes(files.index, 1, 1);
    await using _lock = await lockRun(folder);
    expect((await source.runs()).runs).toMatchObject([{ status: "running", done: 9 }]);
    await writeFile(files.index, text.slice(0, text.indexOf("\n") + 1));
    expect((await source.runs()).runs).toMatchObject([{ status: "running", done: 1 }]);
  });

  it("follows an index of megabytes", async () => {
    const { folder, files } = await killedEvaluation();
    const lines = (await readFile(files.index, "utf8")).split("\n").slice(0, -1);
    const copies = Math.ceil((2 << 20) / lines[0]!.length);
    const many = Array.from({ length: copies }, (_, n) => `${lines[0]!.replace('"id":"', `"id":"${n}-`)}\n`);
    await writeFile(files.index, many.join(""));
    const source = folderSource(folder);
    expect((await source.runs()).runs).toMatchObject([{ done: copies }]);
    await appendFile(files.index, `${lines[0]}\n`);
    expect((await source.runs()).runs).toMatchObject([{ done: copies + 1 }]);
  });
});

it("the list stops if its request ends", async () => {
  const folder = temporaryFolder();
  await writeTraining(folder, [start]);
  await expect(folderSource(folder).runs(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});
