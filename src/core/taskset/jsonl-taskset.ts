import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { parseMessagesJson } from "../text/exact-json.ts";
import { dataFileError } from "./data-file-error.ts";
import { type LineIndex, LineIndexer } from "./line-index.ts";
import { deepestRow, rowProblem } from "./row-problem.ts";
import { type RowSchema, validateRow } from "./row-schema.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** The options of {@link jsonlTaskset}. */
export interface JsonlTasksetOptions<Row> {
  /** The name of the taskset. The name of the file by default. */
  readonly name?: string;
  /** Validates each row when it is read. */
  readonly schema?: RowSchema<Row>;
  readonly signal?: AbortSignal;
}

/**
 * Returns the rows of one or several JSONL files in order: one JSON value per line. Blank lines are skipped. Each file
 * is read once to index its lines (12 bytes of memory per row). Rows are then read on request. A `.gz` file has no
 * random access and is kept decompressed in memory. Numbers that JavaScript would round become texts of their digits.
 * What templates print again also has its exact text: a call with the arguments `{"x": 5.0}` has `argumentsJson`,
 * such parameters of a tool `parametersJson`. Errors name `file:line`: `data.not-found`, or `data.malformed` for a row that is not
 * valid JSON or UTF-8, or that does not match the schema.
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
    specificationVersion: "v1",
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

/** Returns the file that contains row `position`, and the index of the row in that file. */
function locate(files: readonly Lines[], position: number): { readonly file: Lines; readonly row: number } {
  let row = position;
  for (const file of files) {
    if (row < file.index.length) return { file, row };
    row -= file.index.length;
  }
  throw new RangeError(`No file contains row ${position}.`);
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
    if (/\.gz$/i.test(path)) {
      const bytes = await promisify(gunzip)(await readFile(path, { signal }));
      indexer.add(bytes);
      return { path, index: indexer.finish(), read: async (start, end) => bytes.subarray(start, end) };
    }
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
      indexer.add(chunk as Uint8Array);
    }
    return { path, index: indexer.finish(), read: rangeReader(path) };
  } catch (error) {
    signal?.throwIfAborted();
    throw dataFileError(path, error);
  }
}

/** Reads byte ranges in blocks, so that many successive rows need only one read. */
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
    row = parseMessagesJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes), "exact");
  } catch (error) {
    throw new LyceumError({
      code: "data.malformed",
      message: `${place}: the line cannot be read as JSON text in UTF-8 (${(error as Error).message}).`,
      hint: "A JSONL file contains one JSON value per line. If the file changed during use, load it again.",
      data: { place },
      cause: error,
    });
  }
  const problem = rowProblem(row);
  if (problem === undefined) return row;
  throw new LyceumError({
    code: "data.malformed",
    message: `${place}: ${problem}.`,
    hint: `Numbers are at most 1.8e308, and nesting is at most ${deepestRow} deep. Write larger numbers as strings.`,
    data: { place },
  });
}
