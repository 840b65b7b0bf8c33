import { join } from "node:path";
import { toErrorData } from "../../src/contract/errors/index.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import type { Tracker } from "../../src/contract/tracker.ts";
import type { RunEndEvent, TrainingEvent, TrainingWarningEvent } from "../../src/contract/training-event.ts";
import { replaceFile } from "../../src/core/files/replace-file.ts";
import { lockMetrics } from "../../src/core/files/run-lock.ts";
import { followRun, type RunFollower } from "../trackers/follow-run.ts";
import { jsonlTracker } from "../trackers/jsonl-tracker.ts";
import { trainingReport } from "../viewer/training-report.ts";
import { recordedConfig } from "./config-file.ts";
import { metricsFileName, metricsLoss, readMetrics } from "./metrics-file.ts";

/** The name of the report in a run folder. */
export const reportFileName = "report.html";

/**
 * Passes events through and records them. Writes config.yaml at the start of the run, metrics.jsonl during the run, and
 * report.html at its end, even if the run was aborted, failed, or the consumer stopped reading. Also sends the events
 * to `trackers`. A failed write or request (a full disk, an unreachable server) does not stop the training: it yields
 * one warning event per tracker, and that tracker is not used again. Throws `config.invalid` if another process writes
 * the run in the folder.
 */
export async function* recordRun(
  events: AsyncIterable<TrainingEvent>,
  options: {
    readonly folder: string;
    /** Keys of the config that the trainer does not have, such as `trackers`. They replace keys of the trainer. */
    readonly config?: JsonObject;
    /** The trackers besides metrics.jsonl. */
    readonly trackers?: readonly Tracker[];
    /** Aborts the wait for a tracker to open. */
    readonly signal?: AbortSignal;
  },
): AsyncGenerator<TrainingEvent, void, undefined> {
  const { folder, config, trackers = [], signal } = options;
  let followers: RunFollower[] = [];
  const losses: string[] = [];
  let lock: AsyncDisposable | undefined;
  let step = 0;
  let elapsedMs = 0;
  let ended = false;

  const warning = (message: string): TrainingWarningEvent => ({ type: "warning", step, message });
  /** Passes the event to every tracker. The remaining trackers get a warning about each one that failed. */
  const keep = async (given: TrainingEvent): Promise<TrainingWarningEvent[]> => {
    const { config: resolved, ...event } = given.type === "run-start" ? given : { ...given, config: undefined };
    if (event.type === "run-start" && followers.length === 0) {
      const whole = recordedConfig(resolved, config);
      lock = await lockMetrics(folder).catch((error: unknown) => {
        if (toErrorData(error).code === "config.invalid") throw error;
        // metrics.jsonl reports why the folder cannot be written.
        return undefined;
      });
      step = event.resumedFrom;
      const loss = await metricsLoss(join(folder, metricsFileName), event.resumedFrom).catch(() => undefined);
      if (loss !== undefined) losses.push(loss);
      followers = [jsonlTracker(folder), ...trackers].map((tracker) =>
        followRun(tracker, {
          run: { start: event, folder, config: whole },
          signal,
        }),
      );
    }
    const problems = await Promise.all(followers.map((follower) => follower.write(event)));
    problems.push(...losses.splice(0));
    if (event.type === "run-end") problems.push(...(await closeTrackers()));
    const warnings = problems.flatMap((message) => (message === undefined ? [] : [warning(message)]));
    const further: TrainingWarningEvent[] = [];
    for (const one of warnings) further.push(...(await keep(one)));
    return [...warnings, ...further];
  };
  /** Closes all trackers except metrics.jsonl, which records what they could not send. */
  const closeTrackers = async (): Promise<(string | undefined)[]> => {
    const others = followers.slice(1);
    followers = followers.slice(0, 1);
    return await Promise.all(others.map((follower) => follower.close()));
  };

  try {
    for await (const event of events) {
      if ("step" in event) step = event.step;
      if ("elapsedMs" in event) elapsedMs = event.elapsedMs;
      ended ||= event.type === "run-end";
      const warnings = await keep(event);
      // Warnings precede the event that they are about, except for the first event of a run.
      if (event.type === "run-start") yield event;
      yield* warnings;
      if (event.type !== "run-start") yield event;
    }
  } catch (thrown) {
    const error = toErrorData(thrown);
    const reason: RunEndEvent["reason"] = error.code === "aborted" ? "aborted" : "failed";
    if (!ended) await keep({ type: "run-end", reason, step, elapsedMs, error });
    throw thrown;
  } finally {
    await closeTrackers();
    const [file] = followers;
    await file?.close();
    await lock?.[Symbol.asyncDispose]();
    // Without the lock, a run whose consumer stopped reading has stopped.
    if (file?.opened === true) await writeReport(folder).catch(() => undefined);
  }
}

/** Returns the events of the run in a folder. Throws `data.not-found` and `data.malformed` if there is no run. */
export async function recordedEvents(folder: string): Promise<readonly TrainingEvent[]> {
  return (await readMetrics(join(folder, metricsFileName))).events;
}

/**
 * Creates report.html, the viewer's page with the run's figures, from a run's metrics.jsonl, which another process may
 * be writing. Returns its path. Throws `data.not-found` and `data.malformed` for a folder without a run. Throws
 * `report.write-failed` if it cannot be written, such as on a full disk. An earlier report is then kept.
 */
export async function writeReport(folder: string): Promise<string> {
  const path = join(folder, reportFileName);
  await replaceFile(path, await trainingReport(folder), { code: "report.write-failed" });
  return path;
}
