import { stat } from "node:fs/promises";
import { runWriter } from "../../src/core/files/run-lock.ts";
import type { RunStatus } from "./view-source.ts";

/** A run of another machine counts as stopped if its files did not change for longer than this. */
const recentMs = 5 * 60_000;

/** Returns when the newest of some files changed, in milliseconds since 1970. 0 if there is none. */
export async function changedMs(paths: readonly string[]): Promise<number> {
  const times = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(...times);
}

/**
 * Returns the status of a run that has not ended: running if its process lives or, on another machine, if its files
 * change.
 */
export function unfinishedStatus(folder: string, changed: number): RunStatus {
  const writer = runWriter(folder);
  const isRunning = writer === "alive" || (writer === "elsewhere" && Date.now() - changed < recentMs);
  return isRunning ? "running" : "stopped";
}
