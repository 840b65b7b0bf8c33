import type { Episode, Group } from "../../src/contract/episode.ts";
import { fromErrorData, LyceumError } from "../../src/contract/errors/index.ts";

/**
 * Throws the error of the first episode if every episode failed. Then more than one task is broken. Failures with a
 * score count too, because an environment that throws on every answer has an error of its own.
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
