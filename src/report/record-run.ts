import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LyceumError, toErrorData } from "../errors/index.ts";
import type { Json } from "../json.ts";
import { htmlReport } from "./html-report.ts";
import { type MetricsWriter, metricsFileName, openMetricsWriter, readMetrics } from "./metrics-file.ts";
import { replaceFile } from "./replace-file.ts";
import { runRecord } from "./run-record.ts";
import type { RunEndEvent, TrainingEvent } from "./training-event.ts";

/** The name of the report within a run's folder. */
export const reportFileName = "report.html";

/**
 * Passes events through and keeps them: metrics.jsonl as they pass, report.html when they end, whether the run was
 * completed, aborted, failed by throwing, or is no longer listened to. A folder that cannot be written (a full disk)
 * does not stop the training: it becomes a warning event, once.
 */
export async function* recordRun(
  events: AsyncIterable<TrainingEvent>,
  options: { readonly folder: string; readonly config?: Json },
): AsyncGenerator<TrainingEvent, void, undefined> {
  const { folder, config } = options;
  const path = join(folder, metricsFileName);
  let writer: MetricsWriter | undefined;
  let failure: string | undefined;
  let step = 0;
  let elapsedMs = 0;
  let ended = false;

  const keep = async (event: TrainingEvent): Promise<void> => {
    if (failure !== undefined) return;
    try {
      if (writer === undefined) {
        await mkdir(folder, { recursive: true });
        const resumedFrom = event.type === "run-start" ? event.resumedFrom : 0;
        writer = await openMetricsWriter({ path, resumedFrom, ...(config === undefined ? {} : { config }) });
      }
      await writer.append(event);
    } catch (error) {
      failure = `${path} cannot be written; training goes on without it: ${reasonOf(error)}`;
    }
  };

  try {
    for await (const event of events) {
      if ("step" in event) step = event.step;
      if ("elapsedMs" in event) elapsedMs = event.elapsedMs;
      ended ||= event.type === "run-end";
      const failedBefore = failure !== undefined;
      await keep(event);
      if (!failedBefore && failure !== undefined) yield { type: "warning", step, message: failure };
      yield event;
    }
  } catch (thrown) {
    const error = toErrorData(thrown);
    const reason: RunEndEvent["reason"] = error.code === "aborted" ? "aborted" : "failed";
    if (!ended && writer !== undefined) await keep({ type: "run-end", reason, step, elapsedMs, error });
    throw thrown;
  } finally {
    if (writer !== undefined) {
      await writer[Symbol.asyncDispose]();
      await writeReport(folder).catch(() => undefined);
    }
  }
}

/**
 * Draws report.html anew from a run's metrics.jsonl, which another process may be writing, and returns its path. Throws
 * `data.not-found` and `data.malformed` for a folder without a run, `report.write-failed` for a full disk and the like;
 * an earlier report is then left as it was.
 */
export async function writeReport(folder: string): Promise<string> {
  const file = await readMetrics(join(folder, metricsFileName));
  const path = join(folder, reportFileName);
  await replaceFile(path, htmlReport(runRecord(file))).catch((cause: unknown) => {
    throw new LyceumError({
      code: "report.write-failed",
      message: `The report ${path} could not be written: ${reasonOf(cause)}.`,
      hint: "Free some space or make the folder writable.",
      data: { path },
      cause,
    });
  });
  return path;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
