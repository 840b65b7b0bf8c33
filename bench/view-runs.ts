import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RunList } from "../reports/viewer/view-source.ts";
import type { EpisodeEntry } from "../src/evaluation/log/episode-entry.ts";
import { runFolder } from "../src/evaluation/log/run-folder.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { manifest } from "./large-log.ts";

const runs = Number(process.env.VIEW_RUNS ?? 10_000);
const tasks = 100;
const steps = 50;

/** Number of episodes of a killed evaluation. */
const played = 40;

/**
 * Measures how long the viewer, in its own process, takes to list many runs for the first time, and again. Every fifth
 * run is a training. The others are killed evaluations, which have no summary.
 */
export const viewRuns: Benchmark = { prefix: "view-runs", run };

async function run(): Promise<BenchmarkResult[]> {
  return [
    ...(await measureRuns("view-runs", (folder, place) =>
      place % 5 === 0 ? writeTraining(folder, place) : writeEvaluation(folder, place),
    )),
    ...(await measureRuns("view-runs/killed", writeKilledEvaluation)),
  ];
}

async function measureRuns(name: string, write: (folder: string, place: number) => void): Promise<BenchmarkResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-view-runs-"));
  try {
    for (let place = 0; place < runs; place++) {
      const one = join(folder, `group-${place % 100}`, `run-${place}`);
      mkdirSync(one, { recursive: true });
      write(one, place);
    }
    return await measure(name, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measure(name: string, folder: string): Promise<BenchmarkResult[]> {
  const server = spawn(process.execPath, [join(import.meta.dirname, "view-process.ts"), folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const url = String((await lines.next()).value);
    const memory = async (): Promise<number> => {
      server.stdin.write("memory\n");
      return Number((await lines.next()).value);
    };
    const list = async (): Promise<number> => {
      const started = performance.now();
      const answer = (await (await fetch(`${url}api/runs`)).json()) as RunList;
      const bad = answer.runs.find(({ problem, done }) => problem !== undefined || done === 0);
      if (answer.runs.length !== runs || bad !== undefined)
        throw new Error(`The list is wrong: ${JSON.stringify(bad)}`);
      return performance.now() - started;
    };
    const before = await memory();
    const firstMs = await list();
    const after = await memory();
    return [
      { name: `${name}/first-list-ms`, value: firstMs, unit: "ms", baseline: 1_000 },
      { name: `${name}/second-list-ms`, value: await list(), unit: "ms" },
      { name: `${name}/memory-before-mb`, value: before, unit: "MB" },
      { name: `${name}/memory-mb`, value: after, unit: "MB", baseline: 150 },
    ];
  } finally {
    server.kill();
    await once(server, "exit");
  }
}

function writeEvaluation(folder: string, place: number): void {
  const files = runFolder(folder);
  const startedAt = new Date(1.7e12 + place * 60_000).toISOString();
  const counts = {
    tasks,
    episodes: tasks,
    played: tasks,
    scored: tasks,
    unscored: 0,
    failed: 0,
    truncated: 0,
    correct: 40,
  };
  const figure = { value: 0.4, interval: { low: 0.3, high: 0.5, level: 0.95, method: "wilson" }, tasks, overAll: 0.4 };
  const summary = {
    format: "lyceum-evaluation-summary",
    version: 2,
    name: "large",
    models: { agent: "none" },
    status: "completed",
    counts,
    metrics: { accuracy: figure, "pass@1": figure, reward: figure },
    levels: {},
    tasks: Array.from({ length: tasks }, (_, index) => ({
      index,
      id: `task/${index}`,
      hash: String(index).padStart(64, "0"),
      played: 1,
      scored: 1,
      correct: 0,
      reward: 0,
    })),
    time: { startedAt, endedAt: startedAt, elapsedMs: 1, episodeMs: { p50: 1, p90: 1, p99: 1, max: 1 } },
  };
  writeFileSync(files.manifest, JSON.stringify({ ...manifest(1), tasks, startedAt }, undefined, 2));
  writeFileSync(files.summary, `${JSON.stringify(summary, undefined, 2)}\n`);
  for (const file of [files.tasks, files.index, files.episodes, files.failures]) writeFileSync(file, "");
}

/** Writes one line per task, and the lock of an ended process. The transcripts have the stated length and are empty. */
function writeKilledEvaluation(folder: string, place: number): void {
  const files = runFolder(folder);
  const startedAt = new Date(1.7e12 + place * 60_000).toISOString();
  const entries = Array.from({ length: played }, (_, index): EpisodeEntry => {
    const reward = index % 5 < 2 ? 1 : 0;
    return {
      file: "episodes",
      offset: 10_000 * index,
      length: 10_000,
      id: `${index}`.padStart(16, "0"),
      sampleIndex: 0,
      task: { index, id: `task/${index}`, hash: String(index).padStart(64, "0") },
      status: "completed",
      agents: { agent: { reward, components: { tests: reward }, actions: 1, finish: "stop", completionTokens: 200 } },
      turns: 1,
      durationMs: 2_400,
      correct: reward === 1,
    };
  });
  const taskLines = Array.from({ length: tasks }, (_, index) => ({ index, id: `task/${index}`, task: {} }));
  writeFileSync(files.manifest, JSON.stringify({ ...manifest(1), tasks, startedAt }, undefined, 2));
  writeFileSync(files.tasks, taskLines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  writeFileSync(files.index, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  for (const file of [files.episodes, files.failures]) writeFileSync(file, "");
  truncateSync(files.episodes, 10_000 * played);
  // Above the highest possible process id.
  writeFileSync(files.lock, JSON.stringify({ id: "one", pid: 2 ** 22 + 1, host: hostname() }));
}

function writeTraining(folder: string, place: number): void {
  const startedAt = new Date(1.7e12 + place * 60_000).toISOString();
  const model = { name: "none", trainableParameters: 1, device: "cpu" };
  const names = ["reward/mean", "reward/std", "loss/total", "loss/policy", "kl", "entropy", "gradient-norm", "tokens"];
  const metrics = Object.fromEntries(names.map((name, index) => [name, index + 1 / 3]));
  const events = [
    { type: "header", format: "lyceum-metrics", version: 1, startedAt },
    { type: "run-start", algorithm: "grpo", environment: "large", model, seed: 0, resumedFrom: 0, steps },
    ...Array.from({ length: steps }, (_, step) => [
      { type: "step", step: step + 1, steps, metrics, elapsedMs: step, etaMs: 0 },
      ...(step % 10 === 9 ? [{ type: "evaluation", step: step + 1, split: "test", metrics: { accuracy: 0.5 } }] : []),
      { type: "sample", step: step + 1, prompt: "2 + 2?".repeat(20), completion: "4 ".repeat(100), reward: 1 },
    ]).flat(),
    { type: "run-end", reason: "completed", step: steps, elapsedMs: steps },
  ];
  writeFileSync(join(folder, "metrics.jsonl"), events.map((event) => `${JSON.stringify(event)}\n`).join(""));
}
