import { resolve } from "node:path";
import type { HubOptions } from "../../src/hub/hub.ts";
import { loadTaskset } from "../../src/taskset/load-taskset.ts";
import { mapTaskset } from "../../src/taskset/map-taskset.ts";
import { memoryTaskset } from "../../src/taskset/memory-taskset.ts";
import type { Taskset } from "../../src/taskset/taskset.ts";
import { readBenchmarkRows } from "./benchmark-row.ts";

/** Where a benchmark is published. */
interface PublishedBenchmark {
  readonly hub: { readonly source: string; readonly config?: string };
  readonly splits: readonly string[];
  /** The split that a row of its file belongs to; without it, the file is one split, `test`. */
  readonly splitOf?: (row: unknown) => string;
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

const publishedBenchmarks: Readonly<Record<BenchmarkName, PublishedBenchmark>> = {
  humaneval: { hub: { source: "openai/openai_humaneval", config: "openai_humaneval" }, splits: ["test"] },
  "coop-humaneval": { hub: { source: "CoMLRL/CoopHumanEval" }, splits: ["test"] },
  mbpp: {
    hub: { source: "google-research-datasets/mbpp", config: "full" },
    splits: ["train", "test", "validation", "prompt"],
    splitOf: mbppSplit,
  },
  "mbpp-coop": { hub: { source: "OpenMLRL/MBPP" }, splits: ["test"] },
  "humaneval-js": { hub: { source: "nuprl/MultiPL-E", config: "humaneval-js" }, splits: ["test"] },
  "humaneval-ts": { hub: { source: "nuprl/MultiPL-E", config: "humaneval-ts" }, splits: ["test"] },
  "class-eval": { hub: { source: "FudanSELab/ClassEval" }, splits: ["test"] },
};

/**
 * The splits of a benchmark and its tasks: rows of a file at `path`, else of the hub, read by `read`. Loading throws
 * what reading a file or the hub throws, and what `read` throws.
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
  const { hub: published, splits, splitOf } = publishedBenchmarks[name];
  return {
    splits: path === undefined || splitOf !== undefined ? splits : ["test"],
    tasks: async (split, { signal }) => {
      if (path === undefined) {
        const waiting = signal === undefined ? {} : { signal };
        return mapTaskset(await loadTaskset({ ...published, split }, { ...hub, ...waiting }), read, `${name}/${split}`);
      }
      const rows = await readBenchmarkRows(resolve(path));
      const wanted = splitOf === undefined ? rows : rows.filter((row) => splitOf(row) === split);
      return memoryTaskset(`${name}/${split}`, wanted.map(read));
    },
  };
}

/** The split that MBPP's paper gives a row by its number. */
function mbppSplit(row: unknown): string {
  const number = (row as { readonly task_id?: unknown } | null)?.task_id;
  if (typeof number !== "number") return "train";
  if (number <= 10) return "prompt";
  return number <= 510 ? "test" : number <= 600 ? "validation" : "train";
}
