import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mlflowTracker, type Tracker, tensorboardTracker } from "../../reports/trackers/index.ts";
import { recordRun, type TrainingEvent } from "../../reports/training/index.ts";
import { replay, sampleRun } from "../reports/training/sample-run.ts";
import { startRealMlflowServer } from "./mlflow-server.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

type Points = Record<string, [step: number, value: number | string][]>;

let environment: string;
let folder: string;
beforeAll(async () => {
  environment = await providePythonEnvironment({
    name: "trackers",
    requirements: "trackers-requirements.txt",
    download: "100 MB",
  });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-trackers-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function record(events: readonly TrainingEvent[], tracker: Tracker): Promise<void> {
  const run = recordRun(replay(events), { folder, config: { seed: 1, training: { steps: 60 } }, trackers: [tracker] });
  for await (const event of run) if (event.type === "warning") throw new Error(event.message);
}

/** The points of events, by name, with each value as the reader returns it. */
function pointsOf(events: readonly TrainingEvent[], stored: (value: number) => number): Points {
  const points: Points = {};
  for (const event of events) {
    if (event.type !== "step" && event.type !== "evaluation") continue;
    for (const [name, value] of Object.entries(event.metrics)) {
      const tag = event.type === "step" ? name : `evaluation/${name}`;
      const kept = Number.isFinite(value) ? stored(value) : ({ NaN: "nan", Infinity: "inf" }[String(value)] ?? "-inf");
      points[tag] = [...(points[tag] ?? []), [event.step, kept]];
    }
  }
  return points;
}

/** A run with values that JSON and float32 cannot represent. */
function oddRun(): TrainingEvent[] {
  const [start, ...rest] = sampleRun({ steps: 60 });
  const metrics = { a: Number.NaN, b: Number.POSITIVE_INFINITY, c: Number.NEGATIVE_INFINITY, d: 1e-300, e: 0.1, f: -7 };
  return [start!, ...rest.map((event) => (event.type === "step" && event.step === 7 ? { ...event, metrics } : event))];
}

describe("TensorBoard", () => {
  const read = () =>
    runPython<{ scalars: Points; texts: Points; records: number }>({
      environment,
      script: "tensorboard_events",
      request: { folder: join(folder, "tensorboard") },
    });

  test("reads every value at its step, as float32, and every text, with correct checksums", async () => {
    const events = oddRun();
    await record(events, tensorboardTracker());
    const { scalars, texts, records } = await read();
    expect(scalars).toEqual(pointsOf(events, Math.fround));
    const samples = events.flatMap((event) => (event.type === "sample" ? [event] : []));
    expect(texts.sample!.map(([step]) => step)).toEqual(samples.map(({ step }) => step));
    for (const [i, [, text]] of texts.sample!.entries()) expect(text).toContain(samples[i]!.completion);
    expect(texts.config![0]![1]).toContain("steps: 60");
    // The version, the config, the end.
    const told = events.filter(({ type }) => ["step", "evaluation", "sample"].includes(type));
    expect(records).toBe(told.length + 3);
  });

  test("drops the steps that a resumed run repeats", async () => {
    await record(sampleRun({ steps: 60, stopAt: 30 }), tensorboardTracker());
    const resumed = sampleRun({ steps: 60, resumedFrom: 20, seed: 2 });
    await record(resumed, tensorboardTracker());
    expect(await readdir(join(folder, "tensorboard"))).toHaveLength(2);
    const { scalars } = await read();
    const losses = scalars["loss/total"]!;
    expect(losses.map(([step]) => step)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(losses.slice(20)).toEqual(pointsOf(resumed, Math.fround)["loss/total"]);
  });

  test("tbparse reads the same", async () => {
    const events = sampleRun({ steps: 30 });
    await record(events, tensorboardTracker());
    const request = { folder: join(folder, "tensorboard") };
    const rows = await runPython<[string, number, number][]>({ environment, script: "tensorboard_pandas", request });
    const byTag = Map.groupBy(rows, ([tag]) => tag);
    const points = [...byTag].map(([tag, list]) => [tag, list.map(([, step, value]) => [step, value])]);
    expect(Object.fromEntries(points)).toEqual(pointsOf(events, Math.fround));
  });
});

describe("MLflow", () => {
  interface Run {
    readonly name: string;
    readonly status: string;
    readonly params: Record<string, string>;
    readonly tags: Record<string, string>;
    readonly metrics: Points;
  }
  let server: Awaited<ReturnType<typeof startRealMlflowServer>>;
  let data: string;
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "lyceum-mlflow-server-"));
    server = await startRealMlflowServer({ environment, folder: data });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(data, { recursive: true, force: true });
  });
  const read = (experiment: string) =>
    runPython<Run[]>({ environment, script: "mlflow_run", request: { url: server.url, experiment } });
  const tracker = (experiment: string) => mlflowTracker({ url: server.url, experiment, runName: "a run" });

  test("has every value at its step to the last bit, the config, and the status of the run", async () => {
    // Its database keeps NaN, and stores infinities as the largest float64.
    const events = oddRun().map((event) => {
      if (event.type !== "step" || event.metrics.b === undefined) return event;
      const { b: _, c: __, ...metrics } = event.metrics;
      return { ...event, metrics };
    });
    await record(events, tracker("values"));
    const [run, ...others] = await read("values");
    expect(others).toEqual([]);
    expect(run!.metrics).toEqual(pointsOf(events, (value) => value));
    expect(run).toMatchObject({ name: "a run", status: "FINISHED", params: { seed: "1", "training.steps": "60" } });
    expect(run!.tags).toMatchObject({ "lyceum.algorithm": "grpo", "lyceum.environment": "math" });
  });

  test("accepts names and values of any kind", async () => {
    const [start, ...rest] = sampleRun({ steps: 1 });
    const metrics = { "reward/component/größe [%]: ../x": 1, "a//b": 2, "/": 3, "..": 4, "": 5, ["x".repeat(400)]: 6 };
    await record(
      [start!, { type: "step", step: 1, steps: 1, metrics, elapsedMs: 1, etaMs: 1 }, ...rest],
      tracker("names"),
    );
    const values = Object.values((await read("names"))[0]!.metrics).flatMap((points) =>
      points.map(([, value]) => value),
    );
    for (const value of Object.values(metrics)) expect(values).toContain(value);
  });

  test("continues the same run if the training is resumed, a stopped one is killed, and a failed one failed", async () => {
    await record(sampleRun({ steps: 60, stopAt: 30 }), tracker("resumed"));
    expect((await read("resumed")).map(({ status }) => status)).toEqual(["KILLED"]);
    await record(sampleRun({ steps: 60, resumedFrom: 30 }), tracker("resumed"));
    const [run, ...others] = await read("resumed");
    expect(others).toEqual([]);
    expect(run!.status).toBe("FINISHED");
    expect(run!.metrics["loss/total"]!.map(([step]) => step)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
  });
});
