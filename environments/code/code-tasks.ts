import type { Language } from "../../sandbox/execution.ts";
import { showFifth } from "../../sandbox/grading/test-suite.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import type { Taskset } from "../../src/taskset/taskset.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { humanEvalProblem } from "../code-benchmarks/human-eval.ts";
import { mbppProblem } from "../code-benchmarks/mbpp.ts";
import { multiplEProblem } from "../code-benchmarks/multipl-e.ts";
import { benchmarkTasks } from "../code-benchmarks/published-benchmark.ts";
import { processorTime } from "../code-turns/processor-time.ts";
import { showAll } from "../code-turns/visible-tests.ts";
import type { CodeOptions } from "./code-options.ts";

const readers: Readonly<
  Record<CodeOptions["dataset"], { readonly language: Language; readonly read: (row: unknown) => CodeProblem }>
> = {
  humaneval: { language: "python", read: humanEvalProblem },
  "coop-humaneval": { language: "python", read: humanEvalProblem },
  mbpp: { language: "python", read: mbppProblem },
  "humaneval-js": { language: "javascript", read: multiplEProblem },
  "humaneval-ts": { language: "typescript", read: multiplEProblem },
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
  const { language, read } = readers[dataset];
  const limits = processorTime(cpuSeconds);
  const task = (row: unknown): CodeProblem => {
    const problem = read(row);
    return { ...problem, suite: { ...(shareTests ? showAll : showFifth)(problem.suite), limits } };
  };
  return { language, ...benchmarkTasks({ name: dataset, path, hub, read: task }) };
}
