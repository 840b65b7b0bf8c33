import type { Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { tryParseJson } from "../../contract/json.ts";
import { readLines } from "./read-lines.ts";
import { headerProblem } from "./trace-format.ts";

/**
 * The episodes of a trace, read one at a time. A last line that a crash has torn is left out. Throws `data.not-found`
 * for a missing file and `data.malformed`, with `path:line`, for a line that is no episode.
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
        problem: episode === undefined ? "the line is not JSON" : "the line is no episode",
      });
    }
  }
  if (line === 0) throw malformed({ path, line: 1, problem: "the file is empty" });
}

/** A look at the outline: the schema version of the header vouches for the rest. */
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
    hint: "Read only files that a Lyceum trace writer wrote; a damaged line can be deleted.",
    data: { path, line },
  });
}
