import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { tryParseJson } from "../../contract/json.ts";
import { fileSize } from "../../core/trace/file-size.ts";
import { readEpisodeAt } from "../../core/trace/read-episode.ts";
import { readLines } from "../../core/trace/read-lines.ts";
import type { EpisodeEntry } from "./episode-entry.ts";
import type { EvaluationManifest, TaskLine } from "./manifest.ts";
import { runFolder, runFolderVersion } from "./run-folder.ts";
import type { EvaluationSummary } from "./summary.ts";

/** What is evaluated in a run's folder. Throws `data.not-found`, and `data.malformed` for another file or version. */
export async function readManifest(folder: string): Promise<EvaluationManifest> {
  return readDocument<EvaluationManifest>(runFolder(folder).manifest, "lyceum-evaluation");
}

/** What the run came to. Throws as {@link readManifest}: `data.not-found` while it goes on, or after a kill. */
export async function readSummary(folder: string): Promise<EvaluationSummary> {
  return readDocument<EvaluationSummary>(runFolder(folder).summary, "lyceum-evaluation-summary");
}

/** The tasks of a run, in order. */
export async function* readTaskLines(folder: string): AsyncGenerator<TaskLine, void, undefined> {
  const path = runFolder(folder).tasks;
  for await (const { text } of readLines(path)) yield parseLine<TaskLine>(text, path);
}

/**
 * The episodes of a run in short, by id in the order in which they were first written; an episode that was played again
 * as it went last. Lines beyond what is written of their files are left out. Works while the run goes on.
 */
export async function readEntries(folder: string): Promise<Map<string, EpisodeEntry>> {
  const files = runFolder(folder);
  const entries = new Map<string, EpisodeEntry>();
  const sizes = { episodes: await fileSize(files.episodes), failures: await fileSize(files.failures) };
  if ((await fileSize(files.index)) === 0) return entries;
  for await (const read of wholeLines<EpisodeEntry>(files.index)) {
    for (const entry of read) {
      if (entry.offset + entry.length <= sizes[entry.file]) entries.set(entry.id, entry);
    }
  }
  return entries;
}

/**
 * Lines of JSON, many at once: an index of a hundred thousand lines is read in a second. A last line without an end is
 * left out.
 */
async function* wholeLines<T>(path: string): AsyncGenerator<readonly T[], void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(0x0a);
    const bytes = end < 0 ? undefined : Buffer.concat([rest, chunk.subarray(0, end)]);
    rest = end < 0 ? Buffer.concat([rest, chunk]) : chunk.subarray(end + 1);
    if (bytes === undefined || bytes.length === 0) continue;
    // Within JSON a newline is written as an escape: every one that stands here ends a line.
    const lines = tryParseJson<T[]>(`[${bytes.toString("utf8").replaceAll("\n", ",")}]`);
    if (lines === undefined) throw malformed(path, "a line is not JSON");
    yield lines;
  }
}

/** One episode, whole. Throws `data.malformed` where the log does not have it where its entry says. */
export async function readEpisode(
  folder: string,
  entry: Pick<EpisodeEntry, "file" | "offset" | "length" | "id">,
): Promise<Episode> {
  return await readEpisodeAt(runFolder(folder)[entry.file], entry);
}

async function readDocument<T extends { readonly format: string; readonly version: number }>(
  path: string,
  format: T["format"],
): Promise<T> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no ${path}.`,
      hint: "Name the folder of an evaluation; of several benchmarks in one run, each has its own.",
      data: { path },
      cause,
    });
  });
  return parseDocument<T>(text, path, format);
}

/** The manifest in a text of `path`. Throws `data.malformed` for another file or version. */
export function parseManifest(text: string, path: string): EvaluationManifest {
  return parseDocument<EvaluationManifest>(text, path, "lyceum-evaluation");
}

/** The summary in a text of `path`. Throws as {@link parseManifest} does. */
export function parseSummary(text: string, path: string): EvaluationSummary {
  return parseDocument<EvaluationSummary>(text, path, "lyceum-evaluation-summary");
}

function parseDocument<T extends { readonly format: string; readonly version: number }>(
  text: string,
  path: string,
  format: T["format"],
): T {
  const document = tryParseJson<Partial<T>>(text);
  if (document?.format !== format) throw malformed(path, `it is no ${format}`);
  if (document.version !== runFolderVersion) {
    throw malformed(path, `it has version ${document.version}, and this version of Lyceum reads ${runFolderVersion}`);
  }
  return document as T;
}

function parseLine<T>(text: string, path: string): T {
  const value = tryParseJson<T>(text);
  if (value === undefined) throw malformed(path, "a line is not JSON");
  return value;
}

function malformed(path: string, problem: string): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `${path} cannot be read: ${problem}.`,
    hint: "Something else than Lyceum has changed it. A lost or damaged index.jsonl can be deleted, and a resumed run makes it again.",
    data: { path },
  });
}
