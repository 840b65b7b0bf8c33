import type { Episode, Group } from "../../src/contract/episode.ts";
import { fromErrorData, LyceumError } from "../../src/contract/errors/index.ts";

/**
 * Throws the error of the first episode if every episode failed, because the fault is then not in a single task.
 * Failures that were scored count too: an environment that throws on every answer is broken.
 */
export function throwIfAllFailed(groups: readonly Group[]): void {
  const episodes = groups.flatMap((group) => group.episodes);
  const failed = episodes.filter((episode): episode is Episode & { error: object } => episode.status === "failed");
  if (episodes.length === 0 || failed.length < episodes.length) return;
  const { error } = failed[0]!;
  throw new LyceumError({
    code: error.code,
    message: `All ${episodes.length} episodes failed. The first error: ${error.message}`,
    hint: error.hint,
    cause: fromErrorData(error),
  });
}
