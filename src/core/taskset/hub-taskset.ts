import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { downloadHubFile, type HubOptions, type HubRepository, listHubFiles, resolveHubRevision } from "../hub/hub.ts";
import { jsonlTaskset } from "./jsonl-taskset.ts";
import { parquetTaskset } from "./parquet-taskset.ts";
import type { RowSchema } from "./row-schema.ts";
import { sliceTaskset } from "./slice-taskset.ts";
import { parseSplit } from "./split.ts";
import { findSplitFiles, type SplitFiles } from "./split-files.ts";

/** A split of a data set on the Hugging Face hub. */
export interface HubTasksetSpec<Row> {
  /** `owner/name`. */
  readonly dataset: string;
  /** The configuration (subset) of the data set, if it has several. */
  readonly config?: string;
  /** A split, or a slice of one. `train` by default. */
  readonly split?: string;
  /** A branch, tag or commit. `main` by default. Only a commit hash makes a run reproducible. */
  readonly revision?: string;
  /** The columns to read from Parquet files. All by default. */
  readonly columns?: readonly string[];
  readonly schema?: RowSchema<Row>;
}

/** The branch on which the hub keeps a Parquet copy of data sets in other formats. */
const convertedRevision = "refs/convert/parquet";

/**
 * Returns the rows of a hub data set: of its Parquet or JSONL files, or of the hub's Parquet copy. Files are downloaded
 * once to the standard Hugging Face cache and read from there without a network. Throws `data.not-found`,
 * `data.unavailable`, or `data.out-of-range` for an unknown split.
 */
export async function hubTaskset<Row = Record<string, unknown>>(
  spec: HubTasksetSpec<Row>,
  options: HubOptions = {},
): Promise<Taskset<Row>> {
  const { dataset, revision } = spec;
  const { name: split, slice } = parseSplit(spec.split ?? "train");
  const repository: HubRepository = { repository: dataset, type: "dataset", revision };
  const found =
    (await findOnHub(repository, split, spec.config, options)) ??
    (revision === undefined ? await findConverted(repository, split, spec.config, options) : undefined);
  if (found === undefined) throw noSplit(spec, split);
  const local: string[] = [];
  for (const path of found.files.paths) local.push(await downloadHubFile({ ...found.repository, path }, options));
  const reading = {
    name: [dataset, spec.config, split].filter((part) => part !== undefined).join("/"),
    schema: spec.schema,
    signal: options.signal,
  };
  const taskset =
    found.files.format === "parquet"
      ? await parquetTaskset<Row>(local, { ...reading, columns: spec.columns })
      : await jsonlTaskset<Row>(local, reading);
  return slice === undefined ? taskset : sliceTaskset(taskset, slice);
}

interface FoundFiles {
  readonly repository: HubRepository;
  readonly files: SplitFiles;
}

/** Finds the files of a split. `repository` in the result is fixed to one commit, so that its files belong together. */
async function findOnHub(
  repository: HubRepository,
  split: string,
  config: string | undefined,
  options: HubOptions,
): Promise<FoundFiles | undefined> {
  const atCommit = { ...repository, revision: await resolveHubRevision(repository, options) };
  const paths = await listHubFiles(atCommit, options);
  const source = `The data set ${repository.repository}`;
  const files = findSplitFiles({ paths, split, source, config });
  return files === undefined ? undefined : { repository: atCommit, files };
}

async function findConverted(
  repository: HubRepository,
  split: string,
  config: string | undefined,
  options: HubOptions,
): Promise<FoundFiles | undefined> {
  try {
    return await findOnHub({ ...repository, revision: convertedRevision }, split, config, options);
  } catch (error) {
    if (LyceumError.isInstance(error) && error.code === "data.not-found") return undefined;
    throw error;
  }
}

function noSplit({ dataset, config }: HubTasksetSpec<unknown>, split: string): LyceumError {
  return new LyceumError({
    code: "data.out-of-range",
    message: `The data set ${dataset} has no Parquet or JSONL files for the split "${split}"${config === undefined ? "" : ` of "${config}"`}.`,
    hint: "Check the names of its configs and splits on its page, or download it and pass the path.",
    data: { dataset, split, ...(config === undefined ? {} : { config }) },
  });
}
