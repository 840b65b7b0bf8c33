import { createReadStream } from "node:fs";
import { LyceumError } from "../errors/index.ts";
import type { Episode } from "../rollout/episode.ts";
import { dataFileError } from "../taskset/data-file-error.ts";
import { headerProblem } from "./trace-format.ts";

const newline = 0x0a;

/**
 * The episodes of a trace, read one at a time. A last line that a crash has torn is left out. Throws `data.not-found`
 * for a missing file and `data.malformed`, with `path:line`, for a line that is no episode.
 */
export async function* readTrace(
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<Episode, void, undefined> {
  let line = 0;
  for await (const { text, torn } of lines(path, options.signal)) {
    line += 1;
    if (line === 1) {
      const problem = headerProblem(text);
      if (problem !== undefined) throw malformed({ path, line, problem });
      continue;
    }
    const episode = parse(text);
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

/** Every line, without its end. `torn` marks a last one that has none. */
async function* lines(
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly text: string; readonly torn: boolean }, void, undefined> {
  const stream = createReadStream(path, { highWaterMark: 1 << 18, ...(signal === undefined ? {} : { signal }) });
  let pieces: Buffer[] = [];
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
        pieces.push(chunk.subarray(start, end));
        yield { text: Buffer.concat(pieces).toString("utf8"), torn: false };
        pieces = [];
        start = end + 1;
      }
      if (start < chunk.length) pieces.push(chunk.subarray(start));
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw dataFileError(path, error);
  }
  if (pieces.length > 0) yield { text: Buffer.concat(pieces).toString("utf8"), torn: true };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
