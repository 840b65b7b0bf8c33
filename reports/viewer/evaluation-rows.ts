import { tryParseJson } from "../../src/contract/json.ts";
import type { EpisodeEntry } from "../../src/evaluation/log/episode-entry.ts";
import type { RunFolder } from "../../src/evaluation/log/run-folder.ts";
import { type FileStamp, readParts } from "./brief-files.ts";
import { evaluationRow, type IndexedRow } from "./episode-row.ts";

/**
 * Reads the episodes of an evaluation from its index at once, for a list of many runs. They equal those of
 * `createEvaluationIndex`: of two lines with one id, the later one counts, and reading ends at a line that is
 * incomplete or whose episode is not written yet.
 */
export function readEvaluationRows(
  files: RunFolder,
  options: {
    readonly stamps: Readonly<Record<"index" | EpisodeEntry["file"], FileStamp | undefined>>;
    /** True if the evaluation defines which episodes are correct. */
    readonly judges: boolean;
  },
): IndexedRow[] {
  const { stamps, judges } = options;
  const rows = new Map<string, IndexedRow>();
  for (const entry of readEntries(files.index, stamps.index?.size ?? 0)) {
    if (!(entry.offset + entry.length <= (stamps[entry.file]?.size ?? 0))) break;
    rows.set(entry.id, evaluationRow(entry, { judges, task: entry.task }));
  }
  return [...rows.values()];
}

function readEntries(path: string, size: number): EpisodeEntry[] {
  if (size === 0) return [];
  const [text] = readParts(path, [{ from: 0, length: size }]);
  const lines = text!.split("\n").slice(0, -1);
  // Parsing one text of many lines takes half the time. If one of the lines is not JSON, lines are parsed one by one.
  const all = tryParseJson<EpisodeEntry[]>(`[${lines.join(",")}]`);
  if (all?.length === lines.length) return all;
  const entries = lines.map((line) => tryParseJson<EpisodeEntry>(line));
  const end = entries.indexOf(undefined);
  return (end < 0 ? entries : entries.slice(0, end)) as EpisodeEntry[];
}
