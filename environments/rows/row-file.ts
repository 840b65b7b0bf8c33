import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { LyceumError } from "../../src/errors/index.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import { loadTaskset } from "../../src/taskset/load-taskset.ts";
import type { RowSchema } from "../../src/taskset/row-schema.ts";
import type { Taskset } from "../../src/taskset/taskset.ts";

/** The options of environments whose tasks are the rows of files or of a hub data set. */
export const rowOptions: {
  readonly path: z.ZodOptional<z.ZodString>;
  readonly revision: z.ZodOptional<z.ZodString>;
} = {
  path: z
    .string()
    .min(1)
    .optional()
    .describe("A folder with the splits as files, one file (then the only split is train), or a path with {split}."),
  revision: z.string().optional().describe("Branch, tag or commit of the data set; a commit makes runs repeatable."),
};

/** The splits of rows at a path: one file has only `train`. */
export function rowSplits(path: string | undefined): readonly string[] {
  const isOneFile = path !== undefined && /\.(?:jsonl|jsonl\.gz|parquet)$/i.test(path) && !path.includes("{split}");
  return isOneFile ? ["train"] : ["train", "test"];
}

/**
 * The rows of a split, each checked by the schema when it is read. Throws `config.invalid` where no path is given, and
 * what `loadTaskset` throws.
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
      message: `The environment "${environment}" has no rows of its own.`,
      hint: `Name the file of yours, such as path: ${environment}.jsonl.`,
    });
  }
  const local = resolve(path);
  const source = existsSync(local) || path.includes("{split}") ? local : path;
  const rows = await loadTaskset<Row>({ source, split, schema }, signal === undefined ? {} : { signal });
  return rows as Taskset<Row> & { readonly length: number };
}

/** The rows of a split: of the files at `path`, or of the hub data set where no path is given. */
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
  return loadTaskset(
    { ...source, split, schema, ...(revision === undefined ? {} : { revision }) },
    { ...hub, ...(signal === undefined ? {} : { signal }) },
  );
}
