import type { Episode } from "../src/contract/episode.ts";
import type { ErrorData } from "../src/contract/errors/index.ts";
import { readEntries, readEpisode } from "../src/evaluation/log/read-log.ts";

/** Why the first episode of an evaluation failed or has no score. */
export interface FirstFailure {
  readonly task: Episode["task"];
  readonly failed: boolean;
  readonly message: string;
  readonly hint?: string;
  /** The error of a failed episode. */
  readonly error?: ErrorData;
}

/**
 * Returns the first failed episode in the order of tasks, or else the first unscored one. Returns undefined if there is
 * none.
 */
export async function firstFailure(folder: string): Promise<FirstFailure | undefined> {
  const entries = [...(await readEntries(folder)).values()]
    .filter(({ file, status }) => file === "failures" || status === "failed")
    .sort((a, b) => a.task.index - b.task.index || a.sampleIndex - b.sampleIndex);
  const entry = entries.find(({ status }) => status === "failed") ?? entries[0];
  if (entry === undefined) return undefined;
  const { task, error, agents } = await readEpisode(folder, entry);
  if (error !== undefined) {
    const { message, hint } = error;
    return { task, failed: true, message, error, hint };
  }
  const reasons = Object.values(agents).flatMap(({ reward }) => (reward.status === "unscored" ? [reward.reason] : []));
  return { task, failed: false, message: reasons[0] ?? "no reason is known" };
}
