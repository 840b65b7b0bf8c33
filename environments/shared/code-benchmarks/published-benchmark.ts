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

/** The splits of a published benchmark and their sources. */
interface PublishedBenchmark {
  /** The splits, the default one first, each with its data set. */
  readonly splits: Readonly<Record<string, HubSource>>;
  /** Returns the split that a row of a file belongs to. Without it, the file is one split, `test`. */
  readonly splitOf?: (row: unknown) => string | undefined;
}

/** The names of the benchmarks in options. */
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
  // CoMLRL published the test split of sanitized MBPP in another form.
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
 * Returns the splits of a benchmark and a function that loads its tasks. `read` parses the rows of the file at `path`
 * or of the hub data set. Loading throws the errors of the file, the hub and `read`, and `data.out-of-range` if a file
 * has no rows of the split.
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
        const signalOption = signal === undefined ? {} : { signal };
        const published = { ...splits[split]!, split };
        return mapTaskset(await loadTaskset(published, { ...hub, ...signalOption }), read, `${name}/${split}`);
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

/** Returns true for a row of MBPP itself, whose id is a number. CoMLRL's rows have a text id. */
function isNumbered(row: unknown): row is { readonly task_id: number } {
  return typeof (row as { readonly task_id?: unknown } | null)?.task_id === "number";
}

/** Returns the split that MBPP's paper assigns to the row's number, or undefined for a row without a number. */
function mbppSplit(row: unknown): string | undefined {
  if (!isNumbered(row)) return undefined;
  const { task_id: number } = row;
  if (number <= 10) return "prompt";
  return number <= 510 ? "test" : number <= 600 ? "validation" : "train";
}
