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

/**
 * Reads the manifest of a run folder. Throws `data.not-found` if it does not exist, and `data.malformed` if it has
 * another format or version.
 */
export async function readManifest(folder: string): Promise<EvaluationManifest> {
  return readDocument<EvaluationManifest>(runFolder(folder).manifest, "lyceum-evaluation");
}

/**
 * Reads the summary of a run. Throws like {@link readManifest}: `data.not-found` if the run has not ended or was
 * killed.
 */
export async function readSummary(folder: string): Promise<EvaluationSummary> {
  return readDocument<EvaluationSummary>(runFolder(folder).summary, "lyceum-evaluation-summary");
}

/** Reads the tasks of a run, in order. */
export async function* readTaskLines(folder: string): AsyncGenerator<TaskLine, void, undefined> {
  const path = runFolder(folder).tasks;
  for await (const { text } of readLines(path)) yield parseLine<TaskLine>(text, path);
}

/**
 * Reads the entries of a run's episodes, by id, in the order of their first writes. An episode that was played again
 * has its last entry. Skips entries beyond the end of their trace. Can be used during the run.
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
 * Reads JSON lines in large chunks, so that an index of 100,000 lines takes about a second. Skips an incomplete last
 * line.
 */
async function* wholeLines<T>(path: string): AsyncGenerator<readonly T[], void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(0x0a);
    const bytes = end < 0 ? undefined : Buffer.concat([rest, chunk.subarray(0, end)]);
    rest = end < 0 ? Buffer.concat([rest, chunk]) : chunk.subarray(end + 1);
    if (bytes === undefined || bytes.length === 0) continue;
    // JSON escapes newlines in strings, so each newline here ends a line.
    const lines = tryParseJson<T[]>(`[${bytes.toString("utf8").replaceAll("\n", ",")}]`);
    if (lines === undefined) throw malformed(path, "a line is not JSON");
    yield lines;
  }
}

/** Reads an episode. Throws `data.malformed` if the log does not have it at the position of its entry. */
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
      hint: "Name the folder of one evaluation. A run of several benchmarks has a folder for each, and a training has them in evaluations, such as evaluations/step-000100.",
      data: { path },
      cause,
    });
  });
  return parseDocument<T>(text, path, format);
}

/** Parses a manifest. `path` is for errors only. Throws `data.malformed` for another format or version. */
export function parseManifest(text: string, path: string): EvaluationManifest {
  return parseDocument<EvaluationManifest>(text, path, "lyceum-evaluation");
}

/** Parses a summary. Throws like {@link parseManifest}. */
export function parseSummary(text: string, path: string): EvaluationSummary {
  return parseDocument<EvaluationSummary>(text, path, "lyceum-evaluation-summary");
}

function parseDocument<T extends { readonly format: string; readonly version: number }>(
  text: string,
  path: string,
  format: T["format"],
): T {
  const document = tryParseJson<Partial<T>>(text);
  if (document?.format !== format) throw malformed(path, `its format is not ${format}`);
  if (document.version !== runFolderVersion) {
    const problem = `it has version ${document.version}, but this version of Lyceum reads ${runFolderVersion}`;
    throw malformed(path, problem, "Use the version of Lyceum that wrote it, or run the evaluation again.");
  }
  return document as T;
}

function parseLine<T>(text: string, path: string): T {
  const value = tryParseJson<T>(text);
  if (value === undefined) throw malformed(path, "a line is not JSON");
  return value;
}

const damagedHint =
  "Another program has changed the file. A damaged index.jsonl can be deleted: a resumed run rebuilds it.";

function malformed(path: string, problem: string, hint = damagedHint): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `${path} cannot be read: ${problem}.`,
    hint,
    data: { path },
  });
}
