import {
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import { tracePath } from "../../../reports/viewer/trace-index.ts";
import type { EvaluationView, TrainingView } from "../../../reports/viewer/view-source.ts";
import { traceIndexPath } from "../../../src/core/trace/indexed-trace-writer.ts";
import { readEntries, readSummary } from "../../../src/evaluation/log/read-log.ts";
import { runFolder } from "../../../src/evaluation/log/run-folder.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { evaluatePair, hostile, trainingEvents, writeTraining } from "./runs.ts";
import { writeTracedTraining } from "./traced-training.ts";

const all = { filter: {}, offset: 0, limit: 500 };

describe("the runs of a folder", () => {
  it("are found with their figures, newest first, whatever else is in the folder", async () => {
    const folder = temporaryFolder();
    const summary = await evaluatePair(join(folder, "evals/pair"), { tasks: 12 });
    await writeTraining(join(folder, "train"), trainingEvents(40));
    await mkdir(join(folder, "node_modules/x"), { recursive: true });
    await writeFile(join(folder, "node_modules/x/evaluation.json"), "{}");
    await mkdir(join(folder, "broken"));
    await writeFile(join(folder, "broken/evaluation.json"), "{}");
    await symlink(join(folder, "evals"), join(folder, "linked"));
    const { runs } = await folderSource(folder).runs();
    expect(runs.map(({ path }) => path)).toEqual(["train", "evals/pair", "broken"]);
    expect(runs[0]).toMatchObject({ kind: "training", environment: "gsm8k", done: 40, total: 40, status: "completed" });
    const accuracy = summary.metrics.accuracy!.value;
    expect(runs[1]).toMatchObject({ model: "small-coder", status: "completed", done: 12, total: 12 });
    expect(runs[1]!.scores.accuracy).toBe(accuracy);
    expect(runs[2]).toMatchObject({ status: "failed", problem: expect.stringContaining("cannot be read") });
  });

  it("are one run if the folder is itself a run", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 2 });
    const source = folderSource(folder);
    expect((await source.runs()).runs).toMatchObject([{ path: ".", done: 2 }]);
    expect((await source.episodes(".", all)).total).toBe(2);
  });

  it("outside are rejected, with dots, as absolute paths, behind links and as nonsense", async () => {
    const folder = temporaryFolder();
    await evaluatePair(join(folder, "secret"), { tasks: 2 });
    await evaluatePair(join(folder, "in/run"), { tasks: 2 });
    await symlink(join(folder, "secret"), join(folder, "in/link"));
    const source = folderSource(join(folder, "in"));
    expect((await source.run("run")).kind).toBe("evaluation");
    for (const path of ["../secret", "run/../../secret", join(folder, "secret"), "link", "..", "", "x\0y", "nowhere"]) {
      await expect(source.run(path), path).rejects.toMatchObject({ code: "data.not-found" });
      await expect(source.episodes(path, all), path).rejects.toThrow();
    }
    await expect(source.compare("run", "../secret")).rejects.toMatchObject({ code: "data.not-found" });
  });
});

describe("an evaluation", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lyceum-view-"));
    await evaluatePair(folder, { samples: 2 });
    return () => rm(folder, { recursive: true });
  });

  it("has the counts and metrics of its summary, and every episode once", async () => {
    const source = folderSource(folder);
    const summary = await readSummary(folder);
    const view = (await source.run(".")) as EvaluationView;
    const { scored, unscored, failed, correct, played } = summary.counts;
    expect(view.counts).toEqual({ scored, unscored, failed, correct, played, reasoningOnly: 0 });
    expect(view.metrics).toEqual(summary.metrics);
    expect(view.levels).toEqual(["easy", "hard"]);
    const { rows, total } = await source.episodes(".", all);
    expect(total).toBe(80);
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set((await readEntries(folder)).keys()));
    expect(JSON.stringify(rows)).not.toContain("offset");
  });

  it("is filtered by outcome, reward, task, level and order", async () => {
    const source = folderSource(folder);
    const { counts } = await readSummary(folder);
    const rowsOf = async (filter: object) => (await source.episodes(".", { ...all, filter })).rows;
    for (const outcome of ["scored", "unscored", "failed", "correct", "truncated"] as const) {
      expect(await rowsOf({ outcome }), outcome).toHaveLength(counts[outcome]);
    }
    expect(await rowsOf({ outcome: "wrong" })).toHaveLength(counts.scored - counts.correct);
    expect((await rowsOf({ min: 0.5 })).every(({ reward }) => reward === 1)).toBe(true);
    expect(await rowsOf({ min: 0.1, max: 0.1 })).toHaveLength(counts.scored - counts.correct - counts.failed);
    expect((await rowsOf({ task: "3" })).map(({ task }) => task.id)).toEqual(expect.arrayContaining(["3", "13", "39"]));
    expect((await rowsOf({ task: "=3" })).map(({ task, sampleIndex }) => `${task.id} ${sampleIndex}`).sort()).toEqual([
      "3 0",
      "3 1",
    ]);
    expect((await rowsOf({ level: "hard" })).every(({ task }) => task.index % 2 === 1)).toBe(true);
    const best = (await rowsOf({ order: "best" })).map(({ reward }) => reward);
    expect(best).toEqual([...best].sort((a, b) => (b ?? -1) - (a ?? -1)));
    const worst = await rowsOf({ order: "worst" });
    expect([worst[0]!.reward, worst.at(-1)!.reward]).toEqual([0, null]);
    expect((await rowsOf({ order: "task" })).map(({ task }) => task.index)).toEqual(
      Array.from({ length: 80 }, (_, place) => Math.floor(place / 2)),
    );
  });

  it("has no wrong episodes if only the top of the rewards counts as correct", async () => {
    const graded = await mkdtemp(join(tmpdir(), "lyceum-view-"));
    onTestFinished(() => rm(graded, { recursive: true }));
    await evaluatePair(graded, { tasks: 8, correct: { atLeast: 1 } });
    const outcomes = (await folderSource(graded).episodes(".", all)).rows.map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toContain("scored");
    expect(outcomes).not.toContain("wrong");
    expect(outcomes).not.toContain("correct");
  });

  it("is paged through without a gap", async () => {
    const source = folderSource(folder);
    const { rows } = await source.episodes(".", all);
    const pages = [];
    for (let offset = 0; offset < 80; offset += 30)
      pages.push(...(await source.episodes(".", { ...all, offset, limit: 30 })).rows);
    expect(pages).toEqual(rows);
    expect((await source.episodes(".", { ...all, offset: 1_000 })).rows).toEqual([]);
  });

  it("shows an episode with its task and neighbours of the same filter", async () => {
    const source = folderSource(folder);
    const filter = { outcome: "correct", order: "task" } as const;
    const { rows } = await source.episodes(".", { ...all, filter });
    const view = await source.episode(".", { id: rows[2]!.id, filter });
    expect(view).toMatchObject({ position: 2, matched: rows.length, previous: rows[1]!.id, next: rows[3]!.id });
    expect(view.episode.id).toBe(rows[2]!.id);
    expect(view.task!.task).toEqual({ n: rows[2]!.task.index, level: rows[2]!.level });
    expect(await source.episode(".", { id: rows[0]!.id, filter })).not.toHaveProperty("previous");
    expect(await source.episode(".", { id: rows.at(-1)!.id, filter })).not.toHaveProperty("next");
    const outside = await source.episode(".", { id: rows[0]!.id, filter: { outcome: "failed" } });
    expect(outside).toMatchObject({ position: -1 });
    expect(outside).not.toHaveProperty("next");
    await expect(source.episode(".", { id: "nothing", filter })).rejects.toMatchObject({ code: "data.not-found" });
  });

  it("is searched in messages, calls, info and errors, in any case, but not in keys", async () => {
    const source = folderSource(folder);
    const found = async (text: string) =>
      (await source.episodes(".", { ...all, filter: { text, order: "task" } })).rows.map(({ task }) => task.index);
    expect(await found("ADD_17 ...")).toEqual([17, 17]);
    expect(await found("sandbox of TASK 21 went")).toEqual([21, 21]);
    expect(await found("it is about 39.")).toEqual([39, 39]);
    expect(await found("ÜNÏCODE 🙂")).toEqual([0, 0]);
    expect(await found(hostile)).toEqual([0, 0]);
    expect(await found("adds 7 to its argument.\n\n    def")).toEqual([7, 7]);
    expect(await found("durationMs")).toEqual([]);
    expect(await found('"role"')).toEqual([]);
    expect(await found(".*")).toEqual([]);
    expect(await found("bubblewrap")).toHaveLength(80 - 6);
    const narrowed = await source.episodes(".", { ...all, filter: { text: "add_1", outcome: "correct", task: "=1" } });
    expect(narrowed.matched).toBe(2);
  });

  it("compares with another, with the requested paths", async () => {
    const home = temporaryFolder();
    await evaluatePair(join(home, "a"), { tasks: 10 });
    await evaluatePair(join(home, "b"), { tasks: 10, hard: 5, name: "better" });
    const comparison = await folderSource(home).compare("a", "b");
    expect(comparison.first.folder).toBe("a");
    expect(comparison.second.folder).toBe("b");
    expect(comparison.changed.map(({ id }) => id)).toEqual(["3", "5", "6", "9"]);
    expect(comparison.metrics.accuracy).toMatchObject({ wins: 3, losses: 1 });
  });
});

describe("a run in progress", () => {
  it("is followed line by line, and incomplete lines and late traces are read later, once", async () => {
    const folder = temporaryFolder();
    const whole = temporaryFolder();
    await evaluatePair(whole, { tasks: 10 });
    const [from, to] = [runFolder(whole), runFolder(folder)];
    for (const file of ["manifest", "tasks", "episodes", "failures"] as const) await copyFile(from[file], to[file]);
    const lines = (await readFile(from.index, "utf8")).split("\n").slice(0, -1);
    const source = folderSource(folder);
    const count = async () => (await source.episodes(".", all)).total;
    expect(await count()).toBe(0);
    expect(await source.run(".")).toMatchObject({ status: "stopped", counts: { played: 0 }, metrics: {} });
    await appendFile(to.index, `${lines[0]}\n${lines[1]}\n${lines[2]!.slice(0, 40)}`);
    expect(await count()).toBe(2);
    await appendFile(to.index, `${lines[2]!.slice(40)}\n`);
    expect(await count()).toBe(3);
    await truncate(to.episodes, 60);
    await appendFile(to.index, `${lines.slice(3).join("\n")}\n`);
    const lagging = await count();
    expect(lagging).toBeLessThan(10);
    await copyFile(from.episodes, to.episodes);
    expect(await count()).toBe(10);
    // An episode that failed and is played again replaces the failure.
    const failure = lines.find((line) => line.includes('"status":"failed"')) ?? lines[0]!;
    await appendFile(to.index, `${failure}\n`);
    expect(await count()).toBe(10);
    const run = (await source.run(".")) as EvaluationView;
    expect(run.metrics.accuracy!.value).toBeCloseTo((await readSummary(whole)).metrics.accuracy!.value, 12);
  });

  it("is read again if another run replaced it", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 10 });
    const source = folderSource(folder);
    expect((await source.episodes(".", all)).total).toBe(10);
    await rm(folder, { recursive: true });
    await evaluatePair(folder, { tasks: 4 });
    expect((await source.episodes(".", all)).total).toBe(4);
  });
});

describe("a training", () => {
  it("has its curves, which grow while it runs", async () => {
    const folder = temporaryFolder();
    const events = [...trainingEvents(50)];
    await writeTraining(folder, events.slice(0, 20));
    const source = folderSource(folder);
    const before = (await source.run(".")) as TrainingView;
    expect(before).toMatchObject({ kind: "training", status: "stopped", start: { algorithm: "grpo" } });
    const rewards = (view: TrainingView) =>
      view.sections[0]!.charts.find(({ title }) => title === "Reward")!.series[0]!;
    expect(rewards(before).xs).toHaveLength(before.step);
    await writeTraining(folder, events);
    const after = (await source.run(".")) as TrainingView;
    expect(after).toMatchObject({ status: "completed", step: 50 });
    expect(rewards(after).xs).toHaveLength(50);
    expect(after.samples[0]!.step).toBe(50);
  });

  it("of very many steps keeps its spikes in few points", async () => {
    const folder = temporaryFolder();
    const step = (n: number) => {
      const metrics = { "loss/total": n === 4_321 ? 99 : 1 };
      return { type: "step", step: n, steps: 20_000, metrics, elapsedMs: n, etaMs: 0 } as const;
    };
    await writeTraining(folder, [[...trainingEvents(1)][0]!, ...Array.from({ length: 6_000 }, (_, n) => step(n + 1))]);
    const { sections } = (await folderSource(folder).run(".")) as TrainingView;
    const [loss] = sections[0]!.charts[0]!.series;
    expect(loss!.xs.length).toBeLessThanOrEqual(2_000);
    expect(Math.max(...loss!.ys)).toBe(99);
    expect([...loss!.xs].sort((a, b) => a - b)).toEqual(loss!.xs);
  });
});

describe("the episodes of a training", () => {
  it("are listed, filtered and searched like those of an evaluation, also by step and agent", async () => {
    const folder = temporaryFolder();
    await writeTracedTraining(folder);
    const source = folderSource(folder);
    const { trace } = (await source.run(".")) as TrainingView;
    expect(trace).toEqual({ episodes: 120, agents: ["coder", "reviewer"], hasSteps: true });
    const rowsOf = async (filter: object) => (await source.episodes(".", { ...all, filter })).rows;
    const rows = await rowsOf({});
    expect(rows.map(({ step }) => step)).toEqual(Array.from({ length: 120 }, (_, place) => 1 + Math.floor(place / 20)));
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(["scored", "unscored", "failed"]));
    const played = await rowsOf({ task: "=13", agent: "reviewer" });
    expect(played.map(({ words }) => words)).toEqual(Array(3).fill("Looks right to me."));
    expect((await rowsOf({ task: "=13" }))[0]!.words).toBe("def add_13(x: int) -> int: return x + 13");
    expect((await rowsOf({ step: "2" })).map(({ id }) => id)).toEqual(rows.slice(20, 40).map(({ id }) => id));
    expect(await rowsOf({ step: "2-4" })).toHaveLength(60);
    expect(await rowsOf({ step: "5-" })).toHaveLength(40);
    expect(await rowsOf({ step: "-1" })).toHaveLength(20);
    expect((await rowsOf({ order: "newest" })).map(({ id }) => id)).toEqual(rows.map(({ id }) => id).reverse());
    const failed = await rowsOf({ outcome: "failed" });
    expect(failed).toHaveLength(9);
    expect(await rowsOf({ agent: "reviewer" })).toHaveLength(120);
    expect(await rowsOf({ agent: "nobody" })).toHaveLength(0);
    expect((await rowsOf({ text: "add_17 ..." })).map(({ task }) => task.index)).toEqual([17, 17, 17]);
    const { id } = rows[70]!;
    const view = await source.episode(".", { id, filter: { step: "4" } });
    expect(view).toMatchObject({ position: 10, matched: 20, row: { step: 4 }, episode: { id } });
    expect(view).not.toHaveProperty("task");
  });

  it("grow with the run, and are reset with a run that was killed and resumed", async () => {
    const folder = temporaryFolder();
    await writeTracedTraining(folder, { to: 3 });
    const source = folderSource(folder);
    const list = async () => (await source.episodes(".", all)).rows.map(({ id, step }) => `${step} ${id}`);
    const first = await list();
    expect(first).toHaveLength(60);
    expect(await source.run(".")).toMatchObject({ status: "stopped", trace: { episodes: 60 } });
    // Killed in step 4: an episode without a step event, and a part of another.
    const trace = tracePath(folder);
    const { size } = await stat(trace);
    const episode = { ...(await source.episode(".", { id: first[0]!.slice(2), filter: {} })).episode, id: "later" };
    await appendFile(trace, `${JSON.stringify(episode)}\n${JSON.stringify(episode).slice(0, 300)}`);
    expect(await list()).toEqual([...first, "undefined later"]);
    await appendFile(trace, `${JSON.stringify(episode).slice(300)}\n`);
    expect(await list()).toEqual([...first, "undefined later"]);
    await truncate(trace, size);
    await writeTracedTraining(folder, { from: 3 });
    const whole = temporaryFolder();
    await writeTracedTraining(whole);
    const { rows } = await folderSource(whole).episodes(".", all);
    expect(await list()).toEqual(rows.map(({ id, step }) => `${step} ${id}`));
  });

  it("are shown in parts while a long trace is read", async () => {
    const folder = temporaryFolder();
    await writeTracedTraining(folder);
    await rm(traceIndexPath(tracePath(folder)));
    const source = folderSource(folder, { patienceMs: 0 });
    const seen: number[] = [];
    let reading: number | undefined = 0;
    for (let asked = 0; reading !== undefined && asked < 1_000; asked++) {
      const page = await source.episodes(".", all);
      seen.push(page.total);
      reading = page.reading;
    }
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
    expect(seen.at(-1)).toBe(120);
    expect((await source.run(".")) as TrainingView).toMatchObject({ trace: { episodes: 120 } });
  });

  it("are absent if it has no trace", async () => {
    const folder = temporaryFolder();
    await writeTraining(folder, trainingEvents(3));
    const source = folderSource(folder);
    expect(await source.run(".")).not.toHaveProperty("trace");
    expect(await source.episodes(".", all)).toEqual({ total: 0, matched: 0, offset: 0, rows: [] });
    await expect(source.episode(".", { id: "a", filter: {} })).rejects.toMatchObject({ code: "data.not-found" });
  });
});
