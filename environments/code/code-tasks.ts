import { resolve } from "node:path";
import type { Language } from "../../sandbox/execution.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import type { HubOptions } from "../../src/core/hub/hub.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { readBenchmarkRows } from "../shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { humanEvalProblem } from "../shared/code-benchmarks/human-eval.ts";
import { mbppProblem, sanitizedMbppProblem } from "../shared/code-benchmarks/mbpp.ts";
import { benchmarkTasks } from "../shared/code-benchmarks/published-benchmark.ts";
import { processorTime } from "../shared/code-turns/processor-time.ts";
import { showAll, showFirstFifth } from "../shared/code-turns/visible-tests.ts";
import type { CodeOptions } from "./code-options.ts";
import { customProblem } from "./custom-problem.ts";
import { multiplEProblem } from "./multipl-e.ts";

const readers: Readonly<
  Record<
    Exclude<CodeOptions["dataset"], "jsonl">,
    { readonly language: Language; readonly read: (row: unknown) => CodeProblem }
  >
> = {
  humaneval: { language: "python", read: humanEvalProblem },
  "coop-humaneval": { language: "python", read: humanEvalProblem },
  mbpp: { language: "python", read: mbppProblem },
  "mbpp-coop": { language: "python", read: sanitizedMbppProblem },
  "humaneval-js": { language: "javascript", read: multiplEProblem },
  "humaneval-ts": { language: "typescript", read: multiplEProblem },
};

/** Returns the splits of a dataset, the language of its solutions, and its tasks. */
export function codeTasks(
  options: Pick<CodeOptions, "dataset" | "path" | "language" | "cpuSeconds" | "shareTests">,
  hub: HubOptions,
): {
  readonly splits: readonly string[];
  readonly language: Language;
  readonly tasks: (split: string, options: { readonly signal?: AbortSignal }) => Promise<Taskset<CodeProblem>>;
} {
  const { dataset, path, shareTests } = options;
  const limits = processorTime(options.cpuSeconds);
  const shown = (problem: CodeProblem): CodeProblem => ({
    ...problem,
    suite: { ...(shareTests ? showAll : showFirstFifth)(problem.suite), limits },
  });
  if (dataset === "jsonl") {
    const { language } = options;
    const read = (row: unknown): CodeProblem => shown(customProblem(row, language));
    return { language, splits: ["train"], tasks: async () => customTasks(resolve(path!), read) };
  }
  const { language, read } = readers[dataset];
  return { language, ...benchmarkTasks({ name: dataset, path, hub, read: (row) => shown(read(row)) }) };
}

async function customTasks(path: string, read: (row: unknown) => CodeProblem): Promise<Taskset<CodeProblem>> {
  const rows = await readBenchmarkRows(path);
  const problems = rows.map((row, i) => {
    try {
      return read(row);
    } catch (error) {
      if (!LyceumError.isInstance(error)) throw error;
      const { code, message, hint = "Compare the row with the environment's README." } = error;
      throw new LyceumError({ code, message: `${path}, problem ${i + 1}: ${message}`, hint, cause: error });
    }
  });
  return memoryTaskset(`jsonl/${path}`, problems);
}
