import { join } from "node:path";
import type { Tracker } from "../../src/contract/tracker.ts";
import { makeFolder } from "../../src/core/files/make-folder.ts";
import { replaceFile } from "../../src/core/files/replace-file.ts";
import { configFileName, configText } from "../training/config-file.ts";
import { metricsFileName, openMetricsWriter } from "../training/metrics-file.ts";

/**
 * Writes the config to config.yaml in the run folder, and every event as a line of metrics.jsonl. The line is on disk
 * before the run goes on.
 */
export function jsonlTracker(folder: string): Tracker {
  const path = join(folder, metricsFileName);
  return {
    name: path,
    open: async ({ start, config }) => {
      await makeFolder(folder);
      if (config !== undefined) await replaceFile(join(folder, configFileName), configText(config));
      const { resumedFrom } = start;
      const writer = await openMetricsWriter({ path, resumedFrom, config });
      return { write: (event) => writer.append(event), close: async () => writer[Symbol.asyncDispose]() };
    },
  };
}
