import { basename } from "node:path";
import type { AsyncBuffer, Compressors, FileMetaData } from "hyparquet";
import type { Taskset } from "../../contract/taskset.ts";
import { parseMessagesJson } from "../text/exact-json.ts";
import { dataFileError } from "./data-file-error.ts";
import { exactDecimals, withStoredDecimals } from "./parquet-decimals.ts";
import { type RowSchema, validateRow } from "./row-schema.ts";
import { checkTaskIndex, taskEntry } from "./task-entry.ts";

/** The options of {@link parquetTaskset}. */
export interface ParquetTasksetOptions<Row> {
  /** The name of the taskset. The name of the first file by default. */
  readonly name?: string;
  /** The columns to read. All by default. */
  readonly columns?: readonly string[];
  /** Validates each row when it is read. */
  readonly schema?: RowSchema<Row>;
  readonly signal?: AbortSignal;
}

/**
 * Returns the rows of one or several Parquet files in order (the shards of a data set). Reads only the row group of a
 * requested row, and only the selected columns. Keeps the last few row groups in memory. Values become plain JSON:
 * 64-bit integers are numbers (decimal strings beyond 2^53), and so are decimals (strings if a number does not have all
 * their digits), dates are ISO strings, bytes are base64, NaN and
 * infinities are null. Throws `data.not-found`, or `data.malformed` with the file, or with `file:row` (from 1) for a
 * row that does not match the schema.
 */
export async function parquetTaskset<Row = Record<string, unknown>>(
  paths: string | readonly string[],
  options: ParquetTasksetOptions<Row> = {},
): Promise<Taskset<Row>> {
  const list = typeof paths === "string" ? [paths] : paths;
  const groups: RowGroup[] = [];
  let length = 0;
  for (const path of list) {
    options.signal?.throwIfAborted();
    const file = await openParquet(path, options.columns);
    let fileRow = 0;
    for (const { num_rows } of file.metadata.row_groups) {
      groups.push({ file, fileRow, start: length, count: Number(num_rows) });
      fileRow += Number(num_rows);
      length += Number(num_rows);
    }
  }
  const range = { name: options.name ?? basename(list[0] ?? "empty"), length };
  const readGroup = keepRecent(readRowGroup, 4);
  return {
    specificationVersion: "v1",
    ...range,
    get: async (index, getOptions) => {
      getOptions?.signal?.throwIfAborted();
      checkTaskIndex(range, index);
      const group = groups[findGroup(groups, index)]!;
      const row = (await readGroup(group))[index - group.start];
      const place = `${group.file.path}:${group.fileRow + index - group.start + 1}`;
      const task = options.schema === undefined ? (row as Row) : await validateRow(options.schema, row, place);
      return taskEntry(task, index);
    },
  };
}

interface ParquetFile {
  readonly path: string;
  readonly buffer: AsyncBuffer;
  readonly metadata: FileMetaData;
  readonly compressors: Compressors;
  readonly columns: readonly string[] | undefined;
}

interface RowGroup {
  readonly file: ParquetFile;
  /** The index of its first row in the file. */
  readonly fileRow: number;
  /** The index of its first row in the taskset. */
  readonly start: number;
  readonly count: number;
}

async function openParquet(path: string, columns: readonly string[] | undefined): Promise<ParquetFile> {
  const [{ asyncBufferFromFile, parquetMetadataAsync }, { compressors }] = await Promise.all([
    import("hyparquet"),
    import("hyparquet-compressors"),
  ]);
  try {
    const buffer = await asyncBufferFromFile(path);
    return { path, buffer, metadata: await parquetMetadataAsync(buffer), compressors, columns };
  } catch (error) {
    throw dataFileError(path, error);
  }
}

async function readRowGroup(group: RowGroup): Promise<readonly unknown[]> {
  const { path, buffer, metadata, compressors, columns } = group.file;
  const { parquetReadObjects, parquetSchema } = await import("hyparquet");
  try {
    const rows = await parquetReadObjects({
      file: buffer,
      metadata: withStoredDecimals(metadata),
      compressors,
      parsers: { jsonFromBytes },
      rowStart: group.fileRow,
      rowEnd: group.fileRow + group.count,
      ...(columns === undefined ? {} : { columns: [...columns] }),
    });
    const schema = parquetSchema(metadata);
    return rows.map((row) => toPlainJson(exactDecimals(row, schema)));
  } catch (error) {
    throw dataFileError(path, error);
  }
}

/** Returns the index of the last group that begins at or before `index`. */
function findGroup(groups: readonly RowGroup[], index: number): number {
  let low = 0;
  let high = groups.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (groups[middle]!.start <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Caches the results of the `count` most recent arguments. Failures are not cached. */
function keepRecent<Key, Value>(load: (key: Key) => Promise<Value>, count: number): (key: Key) => Promise<Value> {
  const kept = new Map<Key, Promise<Value>>();
  return (key) => {
    const value = kept.get(key) ?? load(key);
    kept.delete(key);
    kept.set(key, value);
    value.catch(() => kept.delete(key));
    if (kept.size > count) kept.delete(kept.keys().next().value!);
    return value;
  };
}

function jsonFromBytes(bytes: Uint8Array | undefined): unknown {
  return bytes && parseMessagesJson(new TextDecoder().decode(bytes), "exact");
}

function toPlainJson(value: unknown): unknown {
  if (typeof value === "bigint") {
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  }
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toPlainJson(part)]));
  }
  return value;
}
