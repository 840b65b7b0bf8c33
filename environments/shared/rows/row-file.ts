import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Taskset } from "../../../src/contract/taskset.ts";
import type { HubOptions } from "../../../src/core/hub/hub.ts";
import { loadTaskset } from "../../../src/core/taskset/load-taskset.ts";
import type { RowSchema } from "../../../src/core/taskset/row-schema.ts";
import { formatSplit, parseSplit } from "../../../src/core/taskset/split.ts";

/** Returns the schema of an option that is a text or absent, such as a path. */
export function optionalText(description: string) {
  return z.string().min(1).optional().describe(description);
}

/** The options of environments whose tasks are the rows of files or of a hub data set. */
export const rowOptions = {
  path: optionalText("A folder with one file per split, one file for all splits, or a path that contains {split}."),
  revision: z
    .string()
    .optional()
    .describe("Branch, tag or commit of the data set. Use a commit to make runs reproducible."),
};

/**
 * Returns the splits of the rows at a path. A single file has only `train`; {@link anySplitOfOneFile} also accepts
 * other names for it.
 */
export function rowSplits(path: string | undefined): readonly string[] {
  return isOneFile(path) ? ["train"] : ["train", "test"];
}

/**
 * Returns a definition that accepts any split name if its tasks are one file. An unknown split, such as `test`, then
 * means that file.
 */
export function anySplitOfOneFile<Task>(
  definition: EnvironmentDefinition<Task>,
  path: string | undefined,
): EnvironmentDefinition<Task> {
  return isOneFile(path) ? anySplit(definition) : definition;
}

/** Returns a definition that accepts any split name. An unknown split, such as `test`, then means its first one. */
export function anySplit<Task>(definition: EnvironmentDefinition<Task>): EnvironmentDefinition<Task> {
  const { splits, tasks } = definition;
  return {
    ...definition,
    tasks: async (text, loading) => {
      const { name, ...slice } = parseSplit(text);
      return tasks(splits.includes(name) ? text : formatSplit({ name: splits[0]!, ...slice }), loading);
    },
  };
}

function isOneFile(path: string | undefined): boolean {
  if (path === undefined || path.includes("{split}")) return false;
  return (
    /\.(?:json|jsonl|parquet)(?:\.gz)?$/i.test(path) ||
    statSync(resolve(path), { throwIfNoEntry: false })?.isFile() === true
  );
}

/**
 * Returns the rows of a split. The schema checks each row when it is read. Throws `config.invalid` if no path is given,
 * and the errors of `loadTaskset`.
 */
export async function loadRows<Row>(options: {
  readonly environment: string;
  /** A file, a folder or a hub data set. */
  readonly path: string | undefined;
  readonly split: string;
  readonly schema: RowSchema<Row>;
  readonly signal?: AbortSignal;
}): Promise<Taskset<Row> & { readonly length: number }> {
  const { environment, path, split, schema, signal } = options;
  if (path === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The environment "${environment}" has no built-in rows.`,
      hint: `Give the path of your file, such as path: ${environment}.jsonl.`,
    });
  }
  const local = resolve(path);
  const source = existsSync(local) || path.includes("{split}") ? local : path;
  const rows = await loadTaskset<Row>({ source, split, schema }, { signal });
  return rows as Taskset<Row> & { readonly length: number };
}

/** Returns the rows of a split from the files at `path`, or from the hub data set if no path is given. */
export function loadRowsOrDataset<Row>(options: {
  readonly path: string | undefined;
  readonly dataset: string;
  /** The data set's configuration. */
  readonly config?: string;
  readonly revision: string | undefined;
  readonly split: string;
  readonly schema: RowSchema<Row>;
  readonly hub?: HubOptions | undefined;
  readonly signal?: AbortSignal | undefined;
}): Promise<Taskset<Row>> {
  const { path, dataset, config, revision, split, schema, hub, signal } = options;
  const source = path === undefined ? { source: dataset, ...(config && { config }) } : { source: resolve(path) };
  return loadTaskset({ ...source, split, schema, revision }, { ...hub, ...(signal === undefined ? {} : { signal }) });
}
