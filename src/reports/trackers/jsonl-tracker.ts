import { join } from "node:path";
import { makeFolder } from "../../core/files/make-folder.ts";
import { metricsFileName, openMetricsWriter } from "../training/metrics-file.ts";
import type { Tracker } from "./tracker.ts";

/** Writes every event as a line of metrics.jsonl in the run folder. The line is on disk before the run goes on. */
export function jsonlTracker(folder: string): Tracker {
  const path = join(folder, metricsFileName);
  return {
    name: path,
    open: async ({ start, config }) => {
      await makeFolder(folder);
      const { resumedFrom } = start;
      const writer = await openMetricsWriter({ path, resumedFrom, config });
      return { write: (event) => writer.append(event), close: async () => writer[Symbol.asyncDispose]() };
    },
  };
}
