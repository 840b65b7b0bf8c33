import { open } from "node:fs/promises";
import type { Episode } from "../../contract/episode.ts";
import { isSystemError, writeFailed } from "../../contract/errors/write-failed.ts";
import { tryParseJson } from "../../contract/json.ts";
import { fileSize } from "./file-size.ts";
import { findTraceEnd } from "./find-trace-end.ts";
import { readLines } from "./read-lines.ts";
import type { TraceEntry } from "./trace-entry.ts";
import { headerLine } from "./trace-format.ts";
import type { TracePosition } from "./trace-writer.ts";

/** A trace that the index covers. */
export interface IndexedTrace {
  readonly path: string;
  /** Returns true if an entry of the index belongs to this trace. */
  readonly has: (entry: TraceEntry) => boolean;
  readonly entryOf: (episode: Episode, position: TracePosition) => TraceEntry;
}

/**
 * Makes the index of a killed run agree with its traces. Removes incomplete lines and entries whose episodes are not in
 * the trace, and adds missing entries, trace by trace. The run must not be written at the same time. Throws
 * `trace.write-failed`.
 */
export async function repairIndex(path: string, traces: readonly IndexedTrace[]): Promise<void> {
  await repair(path, traces).catch((cause: unknown) => {
    throw isSystemError(cause) ? writeFailed({ path, cause }) : cause;
  });
}

async function repair(path: string, traces: readonly IndexedTrace[]): Promise<void> {
  const header = Buffer.byteLength(headerLine());
  const found = await Promise.all(
    traces.map(async (trace) => ({ trace, indexed: header, end: await traceEnd(trace.path) })),
  );
  await using index = await open(path, "a+");
  let whole = 0;
  if ((await index.stat()).size > 0) {
    for await (const { text, offset, length, torn } of readLines(path)) {
      const entry = torn ? undefined : tryParseJson<TraceEntry>(text);
      const position = entry === undefined ? undefined : found.find(({ trace }) => trace.has(entry));
      // Each entry must start where the last entry of its trace ended, so that no entry before it is missing.
      if (entry === undefined || position === undefined || entry.offset !== position.indexed) break;
      if (entry.offset + entry.length > position.end) break;
      position.indexed += entry.length;
      whole = offset + length;
    }
  }
  await index.truncate(whole);
  for (const { trace, indexed, end } of found) {
    if (indexed >= end) continue;
    for await (const { text, torn, ...position } of readLines(trace.path, { start: indexed })) {
      const episode = torn ? undefined : tryParseJson<Episode>(text);
      if (episode !== undefined) await index.appendFile(`${JSON.stringify(trace.entryOf(episode, position))}\n`);
    }
  }
}

async function traceEnd(path: string): Promise<number> {
  if ((await fileSize(path)) === 0) return 0;
  await using file = await open(path, "r");
  return await findTraceEnd(file, path);
}
