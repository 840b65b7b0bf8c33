import type { Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { tryParseJson } from "../../contract/json.ts";
import { readLines } from "./read-lines.ts";
import { headerProblem } from "./trace-format.ts";

/**
 * Reads the episodes of a trace one at a time. Skips a last line that a crash has cut off. Throws `data.not-found` if
 * the file does not exist. Throws `data.malformed`, with `path:line`, for a line that is not an episode.
 */
export async function* readTrace(
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<Episode, void, undefined> {
  let line = 0;
  for await (const { text, torn } of readLines(path, options)) {
    line += 1;
    if (line === 1) {
      const problem = headerProblem(text);
      if (problem !== undefined) throw malformed({ path, line, problem });
      continue;
    }
    const episode = tryParseJson(text);
    if (isEpisode(episode)) yield episode;
    else if (!torn) {
      throw malformed({
        path,
        line,
        problem: episode === undefined ? "the line is not JSON" : "the line is not an episode",
      });
    }
  }
  if (line === 0) throw malformed({ path, line: 1, problem: "the file is empty" });
}

/** Checks only the outline. The schema version in the header guarantees the rest. */
function isEpisode(value: unknown): value is Episode {
  if (typeof value !== "object" || value === null) return false;
  const { id, task, status, agents } = value as Partial<Episode>;
  return (
    typeof id === "string" &&
    typeof task === "object" &&
    typeof status === "string" &&
    typeof agents === "object" &&
    agents !== null
  );
}

function malformed(options: { readonly path: string; readonly line: number; readonly problem: string }): LyceumError {
  const { path, line, problem } = options;
  return new LyceumError({
    code: "data.malformed",
    message: `${path}:${line}: ${problem}.`,
    hint: "Read only files that Lyceum's trace writer wrote. You can delete a damaged line.",
    data: { path, line },
  });
}
