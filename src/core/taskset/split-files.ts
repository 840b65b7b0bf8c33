import { LyceumError } from "../../contract/errors/index.ts";

/** The files of one split, all in the same format. */
export interface SplitFiles {
  readonly format: "parquet" | "jsonl";
  /** The files in order. Several if the split is sharded. */
  readonly paths: readonly string[];
}

/**
 * Finds the files of a split among the paths of a data set by the usual names: `train.jsonl`,
 * `data/train-00000-of-00002.parquet`, `train/0000.parquet`, `gsm8k-train.jsonl.gz`, each also in a folder named after
 * the config. Prefers Parquet to JSONL. Returns undefined if there are none. Throws `data.malformed` if shards are
 * missing, and `config.invalid` if several files or several configs match.
 */
export function findSplitFiles(options: {
  readonly paths: readonly string[];
  readonly split: string;
  readonly config?: string;
  /** The name of the data set in messages. */
  readonly source: string;
}): SplitFiles | undefined {
  const { paths, split, config, source } = options;
  for (const folder of foldersOf(config)) {
    const found = inFolder(paths, folder, split, source);
    if (found !== undefined) return found;
  }
  if (config !== undefined) return undefined;
  const tops = [...new Set(paths.filter((path) => path.includes("/")).map((path) => path.slice(0, path.indexOf("/"))))];
  const candidates = tops.filter((top) => inFolder(paths, `${top}/`, split, source) !== undefined);
  if (candidates.length > 1) {
    throw new LyceumError({
      code: "config.invalid",
      message: `${source} has the split "${split}" in several configs: ${candidates.join(", ")}.`,
      hint: `Name one, such as config: ${candidates[0]}.`,
      data: { configs: candidates },
    });
  }
  return candidates.length === 0 ? undefined : inFolder(paths, `${candidates[0]}/`, split, source);
}

function foldersOf(config: string | undefined): readonly string[] {
  if (config === undefined) return ["", "data/"];
  const own = [`${config}/`, `data/${config}/`];
  return config === "default" ? [...own, "data/", ""] : own;
}

function inFolder(paths: readonly string[], folder: string, split: string, source: string): SplitFiles | undefined {
  const name = split.replace(/[.\\+*?^$()[\]{}|]/g, "\\$&");
  const file = new RegExp(
    `^(?:${name}/[^/]+|(?<exact>${name})|(?:[^/]*[-_.])?${name}(?:[-_.]\\d+(?:-of-\\d+)?)?)\\.(?<format>parquet|jsonl(?:\\.gz)?)$`,
  );
  const matches = paths
    .filter((path) => path.startsWith(folder))
    .flatMap((path) => {
      const match = file.exec(path.slice(folder.length));
      return match === null ? [] : [{ path, exact: match.groups!.exact, format: match.groups!.format! }];
    });
  for (const format of ["parquet", "jsonl", "jsonl.gz"]) {
    const ofFormat = matches.filter((match) => match.format === format);
    const exact = ofFormat.filter((match) => match.exact !== undefined);
    const chosen = (exact.length > 0 ? exact : ofFormat).map(({ path }) => path).sort();
    if (chosen.length === 0) continue;
    checkShards(chosen, split, source);
    return { format: format === "parquet" ? "parquet" : "jsonl", paths: chosen };
  }
  return undefined;
}

/** Checks that several files are the shards of one split: numbered without a gap from the first to the last. */
function checkShards(paths: readonly string[], split: string, source: string): void {
  const numbers = paths.map((path) => /(\d+)(?:-of-(\d+))?\.\w+(?:\.gz)?$/.exec(path));
  const total = numbers[0]?.[2];
  if (paths.length === 1 && total === undefined) return;
  if (numbers.some((number) => number === null || number[2] !== total)) {
    throw new LyceumError({
      code: "config.invalid",
      message: `${source} has several files for the split "${split}": ${paths.join(", ")}.`,
      hint: "Name one of the files.",
      data: { paths: [...paths] },
    });
  }
  const found = numbers.map((number) => Number(number![1]));
  const first = Math.min(...found);
  const count = total === undefined ? Math.max(...found) - first + 1 : Number(total);
  if (new Set(found).size === count && found.length === count) return;
  throw new LyceumError({
    code: "data.malformed",
    message: `${source} has ${found.length} of the ${count} files of the split "${split}".`,
    hint: "Download the complete data set.",
    data: { paths: [...paths] },
  });
}
