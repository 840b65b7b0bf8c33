import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { mlflowName, mlflowParameters } from "../../../reports/trackers/mlflow/mlflow-parameters.ts";
import { mlflowTracker } from "../../../reports/trackers/mlflow/mlflow-tracker.ts";
import { createTrackers, trackerConfigsSchema } from "../../../reports/trackers/tracker-config.ts";
import type { Json } from "../../../src/contract/json.ts";
import type { RunStartEvent, TrainingEvent } from "../../../src/contract/training-event.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleRun } from "../training/sample-run.ts";
import { startMlflowServer } from "./mlflow-server.ts";

const signal = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
});

async function track(url: string, events: readonly TrainingEvent[], config: Json = { seed: 1 }): Promise<void> {
  const tracker = mlflowTracker({ url, experiment: "tests", runName: "first" });
  const session = await tracker.open({ start: events[0] as RunStartEvent, folder, config }, { signal });
  for (const event of events) await session.write(event, { signal });
  await session.close({ signal });
}

type Metric = { key: string; value: number | string; step: number; timestamp: number };
const metricsOf = (calls: readonly { endpoint: string; fields: Record<string, Json> }[]): Metric[] =>
  calls.flatMap(({ endpoint, fields }) => (endpoint === "runs/log-batch" ? ((fields.metrics ?? []) as Metric[]) : []));

describe("mlflowTracker", () => {
  it("creates a run, logs every metric of every step and evaluation once, and ends it", async () => {
    await using server = await startMlflowServer();
    const events = sampleRun({ steps: 30 });
    await track(server.url, events);
    const endpoints = server.calls.map(({ endpoint }) => endpoint);
    expect(endpoints.slice(0, 3)).toEqual(["experiments/get-by-name", "runs/create", "runs/log-batch"]);
    expect(server.calls[1]!.fields).toMatchObject({ experiment_id: "7", run_name: "first" });
    expect(server.calls[2]!.fields.params).toEqual([{ key: "seed", value: "1" }]);
    const wanted = events.flatMap((event) => {
      if (event.type !== "step" && event.type !== "evaluation") return [];
      const prefix = event.type === "evaluation" ? "evaluation/" : "";
      return Object.entries(event.metrics).map(([name, value]) => [prefix + name, event.step, value]);
    });
    expect(metricsOf(server.calls).map(({ key, step, value }) => [key, step, value])).toEqual(wanted);
    expect(server.calls.at(-1)).toMatchObject({
      endpoint: "runs/update",
      fields: { run_id: "run-1", status: "FINISHED" },
    });
  });

  it("never sends a batch above MLflow's limits", async () => {
    await using server = await startMlflowServer();
    const many = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`m/${i}`, i]));
    const [start, ...rest] = sampleRun({ steps: 1 });
    const step: TrainingEvent = { type: "step", step: 1, steps: 1, metrics: many, elapsedMs: 1, etaMs: 0 };
    const config = Object.fromEntries(Array.from({ length: 230 }, (_, i) => [`key${i}`, i]));
    await track(server.url, [start!, step, ...rest], config);
    const batches = server.calls.filter(({ endpoint }) => endpoint === "runs/log-batch");
    const size = (name: string) => batches.map(({ fields }) => (fields[name] as Json[] | undefined)?.length ?? 0);
    expect(Math.max(...size("metrics"))).toBe(1000);
    expect(size("params").filter((count) => count > 0)).toEqual([100, 100, 30]);
    expect(metricsOf(server.calls).filter(({ key }) => key.startsWith("m/"))).toHaveLength(2500);
  });

  it("retries transient failures, and loses nothing", async () => {
    await using server = await startMlflowServer((_, count) =>
      count % 3 === 0 ? undefined : { status: count % 3 === 1 ? 503 : 429, body: "<html>busy</html>" },
    );
    const events = sampleRun({ steps: 3 });
    await track(server.url, events);
    const steps = metricsOf(server.calls.filter((_, i) => i >= 0)).filter(({ key }) => key === "loss/total");
    expect(new Set(steps.map(({ step }) => step))).toEqual(new Set([1, 2, 3]));
    // A batch that is sent again has the same values and timestamps, so MLflow recognizes it.
    const moments = new Map(steps.map(({ step, timestamp }) => [step, timestamp]));
    for (const { step, timestamp } of steps) expect(timestamp).toBe(moments.get(step));
  });

  it("fails immediately with the server's message if the server refuses", async () => {
    const refusal = { error_code: "PERMISSION_DENIED", message: "not yours" };
    await using server = await startMlflowServer(() => ({ status: 403, body: refusal }));
    await expect(track(server.url, sampleRun({ steps: 1 }))).rejects.toMatchObject({
      code: "tracker.failed",
      message: expect.stringContaining("gave 403 not yours"),
    });
    expect(server.calls).toHaveLength(1);
  });

  it.each([
    ["nonsense", { status: 200, body: "<html>sign in</html>" } as const],
    ["another program", { status: 200, body: { hello: "world" } } as const],
  ])("rejects the answer %s", async (_, answer) => {
    await using server = await startMlflowServer(() => answer);
    await expect(track(server.url, sampleRun({ steps: 1 }))).rejects.toMatchObject({ code: "tracker.failed" });
  });

  it("reports a refused batch with the next event, and ends the run as far as possible", async () => {
    await using server = await startMlflowServer(({ endpoint, fields }) =>
      endpoint === "runs/log-batch" && fields.metrics !== undefined ? { status: 400, body: {} } : undefined,
    );
    const events = sampleRun({ steps: 3 });
    const session = await mlflowTracker({ url: server.url, experiment: "tests" }).open(
      { start: events[0] as RunStartEvent, folder },
      { signal },
    );
    await session.write(events[2]!, { signal });
    while (server.calls.every(({ fields }) => fields.metrics === undefined)) await new Promise(setImmediate);
    const later = async () => {
      for (let tries = 0; tries < 1000; tries++) {
        await session.write({ type: "warning", step: 1, message: "" }, { signal });
        await new Promise(setImmediate);
      }
    };
    await expect(later()).rejects.toMatchObject({ code: "tracker.failed" });
    await expect(session.close({ signal })).rejects.toMatchObject({ code: "tracker.failed" });
    expect(server.calls.at(-1)).toMatchObject({ endpoint: "runs/update", fields: { status: "KILLED" } });
  });

  it("ends with its signal while the server does not respond", async () => {
    await using server = await startMlflowServer(() => "hang");
    const limit = AbortSignal.timeout(50);
    const start = sampleRun({ steps: 1 })[0] as RunStartEvent;
    const opening = mlflowTracker({ url: server.url, experiment: "tests" }).open({ start, folder }, { signal: limit });
    await expect(opening).rejects.toMatchObject({ code: "tracker.failed" });
  });

  it("continues the same run if the training is resumed, and a new one if that run is gone", async () => {
    let gone = false;
    await using server = await startMlflowServer(({ endpoint }) =>
      gone && endpoint === "runs/update"
        ? { status: 404, body: { error_code: "RESOURCE_DOES_NOT_EXIST", message: "no such run" } }
        : undefined,
    );
    const made = () => server.calls.filter(({ endpoint }) => endpoint === "runs/create").length;
    await track(server.url, sampleRun({ steps: 4, stopAt: 2 }));
    expect(server.calls.at(-1)!.fields).toMatchObject({ status: "KILLED" });
    await track(server.url, sampleRun({ steps: 4, resumedFrom: 2 }));
    expect(made()).toBe(1);
    expect(server.calls.find(({ fields }) => fields.status === "RUNNING")?.fields).toMatchObject({ run_id: "run-1" });
    gone = true;
    await track(server.url, sampleRun({ steps: 4, resumedFrom: 2 })).catch(() => undefined);
    expect(made()).toBe(2);
    expect(JSON.parse(await readFile(join(folder, "mlflow.json"), "utf8"))).toEqual({
      url: server.url,
      runId: "run-1",
    });
    await writeFile(join(folder, "mlflow.json"), "torn{");
    await track(server.url, sampleRun({ steps: 4, resumedFrom: 2 })).catch(() => undefined);
    expect(made()).toBe(3);
  });

  it("creates a missing experiment, and finds one that another run has just created", async () => {
    const missing = { status: 404, body: { error_code: "RESOURCE_DOES_NOT_EXIST", message: "no such experiment" } };
    await using server = await startMlflowServer(({ endpoint }, count) => {
      if (endpoint === "experiments/get-by-name") return count === 1 ? missing : undefined;
      const taken = { status: 400, body: { error_code: "RESOURCE_ALREADY_EXISTS", message: "there is one" } };
      return endpoint === "experiments/create" ? taken : undefined;
    });
    await track(server.url, sampleRun({ steps: 1 }));
    expect(server.calls.find(({ endpoint }) => endpoint === "runs/create")!.fields).toMatchObject({
      experiment_id: "7",
    });
  });
});

describe("names and parameters", () => {
  it("are accepted by MLflow for any name", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "/", ".", "..", " ", "[", ":", "\n", "ß", "\u{1F600}", "\uD800")),
        (parts) => {
          const name = parts.join("");
          expect(mlflowName(name)).toMatch(/^[\w\-. /]{1,250}$/);
          expect(mlflowName(name).split("/")).not.toContain("..");
        },
      ),
    );
    for (const name of ["reward/mean", "reward/component/correct", "rollout/turn-1/level"]) {
      expect(mlflowName(name)).toBe(name);
    }
  });

  it("are the leaves of a config, each once", () => {
    expect(mlflowParameters({ a: { b: 1, c: [1, 2], d: null }, e: "text", "x:y": 1, "x;y": 2 })).toEqual([
      { key: "a.b", value: "1" },
      { key: "a.c", value: "[1,2]" },
      { key: "a.d", value: "null" },
      { key: "e", value: "text" },
      { key: "x_y", value: "1" },
    ]);
  });
});

describe("trackers in a config", () => {
  const parse = (value: unknown) => trackerConfigsSchema.safeParse(value);
  it("are a name, or a mapping", () => {
    const config = ["tensorboard", { type: "mlflow", url: "http://localhost:5000", experiment: "e" }];
    const trackers = createTrackers(parse(config).data!);
    expect(trackers.map(({ name }) => name)).toEqual(["TensorBoard's event file", "MLflow at http://localhost:5000"]);
  });

  it.each([
    ["an unknown name", ["wandb"]],
    [
      "an address with a password, which would stand in the report",
      [{ type: "mlflow", url: "http://a:b@h", experiment: "e" }],
    ],
    ["an address that is none", [{ type: "mlflow", url: "databricks", experiment: "e" }]],
    ["a file", [{ type: "mlflow", url: "file:///tmp", experiment: "e" }]],
    ["no experiment", [{ type: "mlflow", url: "http://h" }]],
  ])("rejects %s", (_, config) => {
    expect(parse(config).success).toBe(false);
  });

  it("take MLflow's credentials from MLflow's variables", async () => {
    await using server = await startMlflowServer();
    const config = [{ type: "mlflow", url: server.url, experiment: "e" }] as const;
    const start = sampleRun({ steps: 1 })[0] as RunStartEvent;
    for (const variables of [
      { MLFLOW_TRACKING_TOKEN: "secret" },
      { MLFLOW_TRACKING_USERNAME: "name", MLFLOW_TRACKING_PASSWORD: "word" },
      {},
    ]) {
      const session = await createTrackers(config, variables)[0]!.open({ start, folder }, { signal });
      await session.close({ signal });
    }
    const sent = new Set(server.calls.map(({ authorization }) => authorization));
    expect(sent).toEqual(new Set(["Bearer secret", `Basic ${Buffer.from("name:word").toString("base64")}`, undefined]));
  });
});
