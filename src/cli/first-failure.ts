import type { Episode } from "../contract/episode.ts";
import type { ErrorData } from "../contract/errors/index.ts";
import { readEntries, readEpisode } from "../evaluation/log/read-log.ts";

/** Why the first episode of an evaluation failed or has no score. */
export interface FirstFailure {
  readonly task: Episode["task"];
  readonly failed: boolean;
  readonly message: string;
  readonly hint?: string;
  /** What a failed episode recorded. */
  readonly error?: ErrorData;
}

/** The first episode in the order of tasks that failed; if none did, the first that is unscored; undefined if none is. */
export async function firstFailure(folder: string): Promise<FirstFailure | undefined> {
  const entries = [...(await readEntries(folder)).values()]
    .filter(({ file, status }) => file === "failures" || status === "failed")
    .sort((a, b) => a.task.index - b.task.index || a.member - b.member);
  const entry = entries.find(({ status }) => status === "failed") ?? entries[0];
  if (entry === undefined) return undefined;
  const { task, error, agents } = await readEpisode(folder, entry);
  if (error !== undefined) {
    const { message, hint } = error;
    return { task, failed: true, message, error, ...(hint === undefined ? {} : { hint }) };
  }
  const reasons = Object.values(agents).flatMap(({ reward }) => (reward.status === "unscored" ? [reward.reason] : []));
  return { task, failed: false, message: reasons[0] ?? "no reason was given" };
}
