import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { dataFileError } from "./data-file-error.ts";
import { type LineIndex, LineIndexer } from "./line-index.ts";
import { deepestRow, rowProblem } from "./row-problem.ts";
import { type RowSchema, validateRow } from "./row-schema.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** How a JSONL file is read. */
export interface JsonlTasksetOptions<Row> {
  /** The file's name by default. */
  readonly name?: string;
  /** Checks and types each row when it is read. */
  readonly schema?: RowSchema<Row>;
  readonly signal?: AbortSignal;
}

/**
 * The rows of a JSONL file, or of several in order: one JSON value a line, blank lines left out. A file is read once to index where its
 * lines begin (12 bytes of memory a row); rows are then read when asked for. A `.jsonl.gz` cannot be read from the
 * middle and is held decompressed. Errors name `file:line`: `data.not-found`, or `data.malformed` for a row that is
 * no JSON, no UTF-8, or refused by the schema.
 */
export async function jsonlTaskset<Row = unknown>(
  paths: string | readonly string[],
  options: JsonlTasksetOptions<Row> = {},
): Promise<Taskset<Row>> {
  const files = await Promise.all(
    (typeof paths === "string" ? [paths] : paths).map((path) => openLines(path, options.signal)),
  );
  const length = files.reduce((sum, { index }) => sum + index.length, 0);
  const range = { name: options.name ?? basename(files[0]?.path ?? "empty"), length };
  return {
    ...range,
    get: async (position, getOptions) => {
      getOptions?.signal?.throwIfAborted();
      checkTaskIndex(range, position);
      const { file, row } = locate(files, position);
      const { start, end, line } = file.index.row(row);
      const place = `${file.path}:${line}`;
      const value = parseRow(await file.read(start, end), place);
      const task = options.schema === undefined ? (value as Row) : await validateRow(options.schema, value, place);
      return taskEntry(task, position);
    },
  };
}

/** The file that holds row `position` of all, and the row's number within it. */
function locate(files: readonly Lines[], position: number): { readonly file: Lines; readonly row: number } {
  let row = position;
  for (const file of files) {
    if (row < file.index.length) return { file, row };
    row -= file.index.length;
  }
  throw new RangeError(`No file holds row ${position}.`);
}

const readAhead = 1 << 18;

interface Lines {
  readonly path: string;
  readonly index: LineIndex;
  readonly read: (start: number, end: number) => Promise<Uint8Array>;
}

async function openLines(path: string, signal: AbortSignal | undefined): Promise<Lines> {
  const indexer = new LineIndexer();
  try {
    if (path.endsWith(".gz")) {
      const bytes = await promisify(gunzip)(await readFile(path, { signal }));
      indexer.add(bytes);
      return { path, index: indexer.finish(), read: async (start, end) => bytes.subarray(start, end) };
    }
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, ...(signal && { signal }) })) {
      indexer.add(chunk as Uint8Array);
    }
    return { path, index: indexer.finish(), read: rangeReader(path) };
  } catch (error) {
    signal?.throwIfAborted();
    throw dataFileError(path, error);
  }
}

/** Reads byte ranges, and a little beyond them, so that rows read in order cost one read for many. */
function rangeReader(path: string): Lines["read"] {
  let block = { start: 0, bytes: new Uint8Array(0) };
  return async (start, end) => {
    let { bytes, start: offset } = block;
    if (start < offset || end > offset + bytes.length) {
      bytes = await readRange(path, start, Math.max(end, start + readAhead));
      offset = start;
      block = { start, bytes };
    }
    return bytes.subarray(start - offset, end - offset);
  };
}

async function readRange(path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    await using file = await open(path);
    const bytes = new Uint8Array(end - start);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    throw dataFileError(path, error);
  }
}

function parseRow(bytes: Uint8Array, place: string): unknown {
  let row: unknown;
  try {
    row = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new LyceumError({
      code: "data.malformed",
      message: `${place}: the line is no JSON text in UTF-8 (${(error as Error).message}).`,
      hint: "A JSONL file holds one JSON value on each line. If the file changed while it was in use, load it again.",
      data: { place },
      cause: error,
    });
  }
  const problem = rowProblem(row);
  if (problem === undefined) return row;
  throw new LyceumError({
    code: "data.malformed",
    message: `${place}: ${problem}.`,
    hint: `Numbers are at most 1.8e308, and nesting is at most ${deepestRow} deep. Write larger numbers as texts.`,
    data: { place },
  });
}
