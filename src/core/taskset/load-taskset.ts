import { readdir, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { isLocalName } from "../files/missing-path.ts";
import type { HubOptions } from "../hub/hub.ts";
import { dataFileError } from "./data-file-error.ts";
import { hubTaskset } from "./hub-taskset.ts";
import { jsonlTaskset } from "./jsonl-taskset.ts";
import { parquetTaskset } from "./parquet-taskset.ts";
import type { RowSchema } from "./row-schema.ts";
import { sliceTaskset } from "./slice-taskset.ts";
import { parseSplit } from "./split.ts";
import { findSplitFiles, type SplitFiles } from "./split-files.ts";

/** The options of {@link loadTaskset}. */
export interface TasksetSpec<Row> {
  /**
   * A file, a folder of `.jsonl`, `.jsonl.gz` or `.parquet` files, or a hub data set (`owner/name`). A file contains
   * Parquet if its name ends in `.parquet`, else one JSON value per line, compressed if its name ends in `.gz`. `{split}`
   * in a path is replaced by the name of the split.
   */
  readonly source: string;
  /** A split, or a slice of one. `train` by default. A single file is read completely, for every split name. */
  readonly split?: string;
  /** The configuration of a hub data set, or a subfolder. */
  readonly config?: string;
  readonly revision?: string;
  readonly columns?: readonly string[];
  readonly schema?: RowSchema<Row>;
}

/**
 * Returns the rows of a file, a folder or a hub data set. A local path takes precedence over the hub. Throws
 * `data.not-found`, `data.malformed`, `data.unavailable`, or `data.out-of-range` for an unknown split.
 *
 * @example
 * import { writeFile } from "node:fs/promises";
 * import { loadTaskset } from "lyceum";
 * await writeFile("words.jsonl", '{"word": "river"}\n{"word": "stone"}\n{"word": "cloud"}\n');
 * const taskset = await loadTaskset<{ word: string }>({ source: "words.jsonl", split: "train[1:]" });
 * taskset.length; // => 2
 * (await taskset.get(0)).task.word; // => "stone"
 */
export async function loadTaskset<Row = Record<string, unknown>>(
  spec: TasksetSpec<Row>,
  options: HubOptions = {},
): Promise<Taskset<Row>> {
  const { name: split, slice } = parseSplit(spec.split ?? "train");
  const files = await findLocal(spec, split);
  if (files === undefined) return hubTaskset({ ...spec, dataset: spec.source }, options);
  const { columns, schema } = spec;
  const reading = { schema, signal: options.signal };
  const taskset =
    files.format === "parquet"
      ? await parquetTaskset<Row>(files.paths, { ...reading, columns })
      : await jsonlTaskset<Row>(files.paths, reading);
  // Another name does not promise JSON lines: one document over several lines is refused at once.
  const isNamed = files.format === "parquet" || files.paths.every((path) => jsonlName.test(path));
  if (!isNamed && taskset.length !== 0) await taskset.get(0, options);
  return slice === undefined ? taskset : sliceTaskset(taskset, slice);
}

const jsonlName = /\.jsonl(?:\.gz)?$/i;

/** Returns the local files of a split. Returns undefined if the source can only be a hub data set. */
async function findLocal(spec: TasksetSpec<unknown>, split: string): Promise<SplitFiles | undefined> {
  const path = spec.source.replaceAll("{split}", split);
  const format = /\.parquet$/i.test(path) ? "parquet" : "jsonl";
  if (format === "parquet" || jsonlName.test(path)) return { format, paths: [path] };
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return findInFolder(path, spec, split);
  if (found === undefined && /^[\w.-]+\/[\w.-]+$/.test(path) && !isLocalName(path)) return undefined;
  if (found === undefined) throw dataFileError(path, Object.assign(new Error("missing"), { code: "ENOENT" }));
  return { format, paths: [path] };
}

async function findInFolder(folder: string, { config }: TasksetSpec<unknown>, split: string): Promise<SplitFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
  const source = `The folder ${folder}`;
  const files = findSplitFiles({ paths, split, source, config });
  if (files !== undefined) return { ...files, paths: files.paths.map((path) => join(folder, path)) };
  throw new LyceumError({
    code: "data.out-of-range",
    message: `The folder ${folder} has no files for the split "${split}".`,
    hint: `Files are found by name, such as ${split}.jsonl, data-${split}.jsonl.gz or ${split}-00000-of-00001.parquet.`,
    data: { folder, split },
  });
}
