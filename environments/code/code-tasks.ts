import { resolve } from "node:path";
import type { Language } from "../../sandbox/execution.ts";
import { showFifth } from "../../sandbox/grading/test-suite.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import { loadTaskset } from "../../src/taskset/load-taskset.ts";
import { mapTaskset } from "../../src/taskset/map-taskset.ts";
import { memoryTaskset } from "../../src/taskset/memory-taskset.ts";
import type { Taskset } from "../../src/taskset/taskset.ts";
import { readBenchmarkRows } from "../code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { humanEvalProblem } from "../code-benchmarks/human-eval.ts";
import { mbppProblem } from "../code-benchmarks/mbpp.ts";
import { multiplEProblem } from "../code-benchmarks/multipl-e.ts";
import { showAll } from "../code-turns/visible-tests.ts";
import type { CodeOptions } from "./code-options.ts";

/** A benchmark: where the hub has it, and how its rows are read. */
interface CodeBenchmark {
  readonly hub: { readonly source: string; readonly config?: string };
  readonly splits: readonly string[];
  readonly language: Language;
  readonly read: (row: unknown) => CodeProblem;
}

const benchmarks: Readonly<Record<CodeOptions["dataset"], CodeBenchmark>> = {
  humaneval: {
    hub: { source: "openai/openai_humaneval", config: "openai_humaneval" },
    splits: ["test"],
    language: "python",
    read: humanEvalProblem,
  },
  "coop-humaneval": {
    hub: { source: "CoMLRL/CoopHumanEval" },
    splits: ["test"],
    language: "python",
    read: humanEvalProblem,
  },
  mbpp: {
    hub: { source: "google-research-datasets/mbpp", config: "full" },
    splits: ["train", "test", "validation", "prompt"],
    language: "python",
    read: mbppProblem,
  },
  "humaneval-js": {
    hub: { source: "nuprl/MultiPL-E", config: "humaneval-js" },
    splits: ["test"],
    language: "javascript",
    read: multiplEProblem,
  },
  "humaneval-ts": {
    hub: { source: "nuprl/MultiPL-E", config: "humaneval-ts" },
    splits: ["test"],
    language: "typescript",
    read: multiplEProblem,
  },
};

/** The splits of a benchmark, the language of its solutions, and its tasks. */
export function codeTasks(
  { dataset, path, cpuSeconds, shareTests }: Pick<CodeOptions, "dataset" | "path" | "cpuSeconds" | "shareTests">,
  hub: HubOptions,
): {
  readonly splits: readonly string[];
  readonly language: Language;
  readonly tasks: (split: string, options: { readonly signal?: AbortSignal }) => Promise<Taskset<CodeProblem>>;
} {
  const { hub: published, splits, language, read } = benchmarks[dataset];
  // A sleeper, or a busy machine, gets four times as long as the processor may work, and a little to start.
  const limits = { cpuMs: 1000 * cpuSeconds, wallMs: 4000 * cpuSeconds + 2000 };
  const task = (row: unknown): CodeProblem => {
    const problem = read(row);
    return { ...problem, suite: { ...(shareTests ? showAll : showFifth)(problem.suite), limits } };
  };
  // A file is taken whole, but for MBPP's, whose splits are ranges of its numbers.
  const ofFile = path === undefined || dataset === "mbpp" ? splits : ["test"];
  return {
    splits: ofFile,
    language,
    tasks: async (split, { signal }) => {
      if (path === undefined) {
        const rows = await loadTaskset(
          { ...published, split },
          { ...hub, ...(signal === undefined ? {} : { signal }) },
        );
        return mapTaskset(rows, task, `${dataset}/${split}`);
      }
      const rows = await readBenchmarkRows(resolve(path));
      const wanted = dataset === "mbpp" ? rows.filter((row) => mbppSplit(row) === split) : rows;
      return memoryTaskset(`${dataset}/${split}`, wanted.map(task));
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
