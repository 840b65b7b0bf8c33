import { resolve } from "node:path";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Taskset } from "../../../src/contract/taskset.ts";
import type { HubOptions } from "../../../src/core/hub/hub.ts";
import { loadTaskset } from "../../../src/core/taskset/load-taskset.ts";
import { mapTaskset } from "../../../src/core/taskset/map-taskset.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { readBenchmarkRows } from "./benchmark-row.ts";

/** A data set of the hub. */
interface HubSource {
  readonly source: string;
  readonly config?: string;
}

/** Where a benchmark is published. */
interface PublishedBenchmark {
  /** Its splits, the usual one first, with the data set that each is in. */
  readonly splits: Readonly<Record<string, HubSource>>;
  /** The split that a row of its file belongs to; without it, the file is one split, `test`. */
  readonly splitOf?: (row: unknown) => string | undefined;
}

/** Names that options have for the benchmarks of this folder. */
type BenchmarkName =
  | "humaneval"
  | "coop-humaneval"
  | "mbpp"
  | "mbpp-coop"
  | "humaneval-js"
  | "humaneval-ts"
  | "class-eval";

const mbpp = (config: string): HubSource => ({ source: "google-research-datasets/mbpp", config });
const publishedBenchmarks: Readonly<Record<BenchmarkName, PublishedBenchmark>> = {
  humaneval: { splits: { test: { source: "openai/openai_humaneval", config: "openai_humaneval" } } },
  "coop-humaneval": { splits: { test: { source: "CoMLRL/CoopHumanEval" } } },
  mbpp: {
    splits: { train: mbpp("full"), test: mbpp("full"), validation: mbpp("full"), prompt: mbpp("full") },
    splitOf: mbppSplit,
  },
  // CoMLRL published the test split of sanitized MBPP in a form of its own.
  "mbpp-coop": {
    splits: {
      test: { source: "OpenMLRL/MBPP" },
      train: mbpp("sanitized"),
      validation: mbpp("sanitized"),
      prompt: mbpp("sanitized"),
    },
    splitOf: (row) => (isNumbered(row) ? mbppSplit(row) : "test"),
  },
  "humaneval-js": { splits: { test: { source: "nuprl/MultiPL-E", config: "humaneval-js" } } },
  "humaneval-ts": { splits: { test: { source: "nuprl/MultiPL-E", config: "humaneval-ts" } } },
  "class-eval": { splits: { test: { source: "FudanSELab/ClassEval" } } },
};

/**
 * The splits of a benchmark and its tasks: rows of a file at `path`, else of the hub, read by `read`. Loading throws
 * what reading a file or the hub throws, what `read` throws, and `data.out-of-range` for a split that a file lacks.
 */
export function benchmarkTasks<Task>(options: {
  readonly name: BenchmarkName;
  readonly path: string | undefined;
  readonly hub: HubOptions;
  readonly read: (row: unknown) => Task;
}): {
  readonly splits: readonly string[];
  readonly tasks: (split: string, loading: { readonly signal?: AbortSignal }) => Promise<Taskset<Task>>;
} {
  const { name, path, hub, read } = options;
  const { splits, splitOf } = publishedBenchmarks[name];
  return {
    splits: Object.keys(splits),
    tasks: async (split, { signal }) => {
      if (path === undefined) {
        const waiting = signal === undefined ? {} : { signal };
        const published = { ...splits[split]!, split };
        return mapTaskset(await loadTaskset(published, { ...hub, ...waiting }), read, `${name}/${split}`);
      }
      const rows = await readBenchmarkRows(resolve(path));
      const wanted = splitOf === undefined ? rows : rows.filter((row) => (splitOf(row) ?? split) === split);
      if (splitOf !== undefined && wanted.length === 0) {
        throw noSuchRows({ path, split, present: [...new Set(rows.flatMap((row) => splitOf(row) ?? []))] });
      }
      return memoryTaskset(`${name}/${split}`, wanted.map(read));
    },
  };
}

function noSuchRows(options: {
  readonly path: string;
  readonly split: string;
  readonly present: readonly string[];
}): LyceumError {
  const { path, split, present } = options;
  return new LyceumError({
    code: "data.out-of-range",
    message: `The file ${path} has no rows of the split "${split}".`,
    hint: `It has ${present.length === 0 ? "no rows" : `the splits ${present.join(", ")}`}. Leave path out to take the hub's data.`,
    data: { path, split, present: [...present] },
  });
}

/** True for a row of MBPP itself, whose id is a number; rows that CoMLRL made have a text. */
function isNumbered(row: unknown): row is { readonly task_id: number } {
  return typeof (row as { readonly task_id?: unknown } | null)?.task_id === "number";
}

/** The split that MBPP's paper gives a row by its number; undefined for a row without one. */
function mbppSplit(row: unknown): string | undefined {
  if (!isNumbered(row)) return undefined;
  const { task_id: number } = row;
  if (number <= 10) return "prompt";
  return number <= 510 ? "test" : number <= 600 ? "validation" : "train";
}
