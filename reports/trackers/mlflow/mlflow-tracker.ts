import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { isJsonObject, type Json, tryParseJson } from "../../../src/contract/json.ts";
import type { TrackedRun, TrackedSession, Tracker } from "../../../src/contract/tracker.ts";
import type { RunEndEvent } from "../../../src/contract/training-event.ts";
import { replaceFile } from "../../../src/core/files/replace-file.ts";
import { eventMetrics } from "../event-metrics.ts";
import { type MlflowClient, mlflowClient, mlflowErrorCode } from "./mlflow-client.ts";
import { mlflowName, mlflowParameters } from "./mlflow-parameters.ts";
import { sendInBackground } from "./send-in-background.ts";

/** The options of {@link mlflowTracker}. */
export interface MlflowTrackerOptions {
  /** The address of the tracking server, such as `http://localhost:5000`. */
  readonly url: string;
  /** The experiment. It is created if it does not exist. */
  readonly experiment: string;
  /** The name of the run. The name of its folder by default. */
  readonly runName?: string | undefined;
  /** The value of the `authorization` header. */
  readonly authorization?: string;
}

/** A point of a curve, in the form of `runs/log-batch`. */
interface MlflowMetric {
  readonly key: string;
  readonly value: number | "NaN" | "Infinity" | "-Infinity";
  readonly timestamp: number;
  readonly step: number;
}

/** The maximum number of items in one `runs/log-batch` (MLflow's limits). */
const mostMetrics = 1000;
const mostParameters = 100;
const lastCallMs = 3_000;

/** The file in the run folder with the id of the MLflow run. A resumed run uses it to continue the same MLflow run. */
const noteName = "mlflow.json";
const noteSchema = z.object({ url: z.string(), runId: z.string() });

/**
 * Creates a tracker that writes a run to MLflow: metrics as they arrive, the config as parameters, and the final state.
 * Metrics are sent in the background, in batches. A resumed run continues the same MLflow run if it still exists.
 * MLflow keeps the old values of steps that are repeated.
 */
export function mlflowTracker(options: MlflowTrackerOptions): Tracker {
  const { url } = options;
  const client = mlflowClient(options);
  return {
    name: `MLflow at ${url}`,
    open: async (run, { signal }) => {
      const runId =
        (await resumedRun(client, { run, url, signal })) ?? (await newRun(client, { run, options, signal }));
      await replaceFile(join(run.folder, noteName), `${JSON.stringify({ url, runId })}\n`);
      return follow(client, runId);
    },
  };
}

/** Sends the events of a run to MLflow. */
function follow(client: MlflowClient, runId: string): TrackedSession {
  let end: RunEndEvent | undefined;
  const queue = sendInBackground<MlflowMetric>({
    batchSize: mostMetrics,
    send: async (metrics, signal) => {
      const fields = { run_id: runId, metrics: metrics.map((metric) => ({ ...metric })) };
      await client.call({ method: "POST", endpoint: "runs/log-batch", fields, signal });
    },
  });
  return {
    write: async (event) => {
      if (event.type === "run-end") end = event;
      if (event.type !== "step" && event.type !== "evaluation") return queue.check();
      const timestamp = Date.now();
      const metrics = Object.entries(eventMetrics(event)).map(([name, value]) => ({
        key: mlflowName(name),
        value: Number.isFinite(value) ? value : (String(value) as MlflowMetric["value"]),
        timestamp,
        step: event.step,
      }));
      queue.add(metrics);
    },
    close: async ({ signal }) => {
      const undelivered = await queue.close(signal).then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      const status = { completed: "FINISHED", aborted: "KILLED", failed: "FAILED" }[end?.reason ?? "aborted"];
      const fields = { run_id: runId, status, end_time: Date.now() };
      const call = { method: "POST", endpoint: "runs/update", fields } as const;
      if (undelivered === undefined) return void (await client.call({ ...call, signal }));
      // A server that does not respond gets one last call, not calls until the time limit.
      const soon = AbortSignal.any([signal, AbortSignal.timeout(lastCallMs)]);
      await client.call({ ...call, signal: soon }).catch(() => undefined);
      throw undelivered.error;
    },
  };
}

/** Returns the MLflow run in which a resumed run began. Returns undefined if there is none. */
async function resumedRun(
  client: MlflowClient,
  { run, url, signal }: { readonly run: TrackedRun; readonly url: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  if (run.start.resumedFrom === 0) return undefined;
  const text = await readFile(join(run.folder, noteName), "utf8").catch(() => "");
  const note = noteSchema.safeParse(tryParseJson(text)).data;
  if (note?.url !== url) return undefined;
  try {
    const fields = { run_id: note.runId, status: "RUNNING" };
    await client.call({ method: "POST", endpoint: "runs/update", fields, signal });
    return note.runId;
  } catch (error) {
    if (mlflowErrorCode(error) !== undefined) return undefined;
    throw error;
  }
}

async function newRun(
  client: MlflowClient,
  context: { readonly run: TrackedRun; readonly options: MlflowTrackerOptions; readonly signal: AbortSignal },
): Promise<string> {
  const { run, options, signal } = context;
  const { algorithm, environment, model } = run.start;
  const created = await client.call({
    method: "POST",
    endpoint: "runs/create",
    fields: {
      experiment_id: await experimentId(client, { name: options.experiment, signal }),
      run_name: options.runName ?? basename(resolve(run.folder)),
      start_time: Date.now(),
      tags: Object.entries({ algorithm, environment, model: model.name }).map(([key, value]) => ({
        key: `lyceum.${key}`,
        value: value.slice(0, 500) || "-",
      })),
    },
    signal,
  });
  const runId = field(field(field(created, "run"), "info"), "run_id");
  if (typeof runId !== "string") throw strange("runs/create");
  const parameters = run.config === undefined ? [] : mlflowParameters(run.config);
  for (let first = 0; first < parameters.length; first += mostParameters) {
    const params = parameters.slice(first, first + mostParameters).map((parameter) => ({ ...parameter }));
    await client.call({ method: "POST", endpoint: "runs/log-batch", fields: { run_id: runId, params }, signal });
  }
  return runId;
}

/** Returns the id of an experiment. Creates the experiment if it does not exist. */
async function experimentId(
  client: MlflowClient,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
): Promise<string> {
  const find = async (): Promise<Json | undefined> => {
    const fields = { experiment_name: name };
    const found = await client.call({ method: "GET", endpoint: "experiments/get-by-name", fields, signal });
    return field(field(found, "experiment"), "experiment_id");
  };
  const id = await find().catch(async (error: unknown) => {
    if (mlflowErrorCode(error) !== "RESOURCE_DOES_NOT_EXIST") throw error;
    const create = { method: "POST", endpoint: "experiments/create", fields: { name }, signal } as const;
    return await client.call(create).then(
      (created) => field(created, "experiment_id"),
      // Another run may have created it in the meantime.
      (failure: unknown) => (mlflowErrorCode(failure) === "RESOURCE_ALREADY_EXISTS" ? find() : Promise.reject(failure)),
    );
  });
  if (typeof id !== "string") throw strange("experiments/get-by-name");
  return id;
}

function field(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}

function strange(endpoint: string): LyceumError {
  return new LyceumError({
    code: "tracker.failed",
    message: `${endpoint} returned a response that is not MLflow's.`,
    hint: "Check that the address belongs to an MLflow tracking server.",
  });
}
