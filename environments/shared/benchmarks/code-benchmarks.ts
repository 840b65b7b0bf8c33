import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { openEnvironment } from "../../../src/core/environment/registry.ts";
import { classCompletionEntry } from "../../class-completion/class-completion.ts";
import { codeEntry } from "../../code/code.ts";
import type { CodeOptions } from "../../code/code-options.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { fenced } from "../code-turns/code-block.ts";
import { visibleTests } from "../code-turns/visible-tests.ts";
import { type Benchmark, type BenchmarkOptions, defineBenchmark } from "./benchmark.ts";
import { withFixedOptions } from "./fixed-options.ts";
import { type PromptFormat, withPromptFormat } from "./prompt-format.ts";

/** Returns a benchmark in which one agent writes functions in one turn. */
function functionBenchmark(definition: {
  readonly id: string;
  readonly description: string;
  readonly dataset: CodeOptions["dataset"];
  readonly completion: PromptFormat<CodeProblem>;
  readonly completionShots?: number;
  readonly options?: { readonly shareTests?: boolean };
  /** The CPU time for one problem's tests, in seconds. Defaults to 3, as in the HumanEval harness. */
  readonly cpuSeconds?: number;
}): Benchmark {
  const { id, description, dataset, completion, completionShots = 0, options = {}, cpuSeconds = 3 } = definition;
  return {
    id,
    description,
    split: "test",
    formats: { chat: { shots: 0 }, completion: { shots: completionShots, stop: completion.stop } },
    maxTokens: 512,
    correct: { stated: true },
    open: async ({ set, format, shots, openPolicy, signal }) => {
      // The limit is CPU time, so that the load of the machine does not change verdicts.
      const defaults = { cpuSeconds, maxTurns: 1 };
      const fixed = { ...options, dataset, agents: 1 } as const;
      const environment = await openCode(withFixedOptions(id, { set: { ...defaults, ...set }, fixed }), openPolicy);
      if (format === "chat") return environment;
      if (shots === 0) return withPromptFormat(environment, completion);
      const examples = await environment.tasks("prompt", { signal });
      // The paper uses problems 2, 3 and 4.
      const worked = await Promise.all(Array.from({ length: shots }, (_, i) => examples.get(i + 1)));
      const before = worked.map(({ task }) => workedText(task, completion)).join("");
      return withPromptFormat(environment, { ...completion, prompt: (task) => `${before}${completion.prompt(task)}` });
    },
  };
}

/** Opens the code environment with the expert that its options may name. */
function openCode(
  options: Readonly<Record<string, unknown>>,
  open: BenchmarkOptions["openPolicy"],
): Promise<EnvironmentDefinition<CodeProblem>> {
  return openEnvironment(codeEntry, { options, open }) as Promise<EnvironmentDefinition<CodeProblem>>;
}

function workedText(task: CodeProblem, { prompt, demonstrate }: PromptFormat<CodeProblem>): string {
  return `${prompt(task)}${demonstrate?.(task) ?? ""}\n[DONE]\n\n`;
}

/** Returns a format whose prompt is the beginning of the source code and whose completion is the rest. */
function sourceCompletion(stop: readonly string[]): PromptFormat<CodeProblem> {
  return {
    prompt: ({ prompt }) => prompt,
    answer: (text, { prompt, suite }) => fenced(suite.language, prompt + text),
    demonstrate: ({ prompt, solution }) => (solution?.startsWith(prompt) ? solution.slice(prompt.length) : undefined),
    stop,
  };
}

/**
 * HumanEval (Chen et al. 2021, https://arxiv.org/abs/2107.03374). The completion format and its stop sequences are the
 * paper's.
 */
export const humanEvalBenchmark: Benchmark = functionBenchmark({
  id: "humaneval",
  description: "HumanEval: 164 Python functions from their docstrings.",
  dataset: "humaneval",
  completion: sourceCompletion(["\nclass", "\ndef", "\n#", "\nif", "\nprint"]),
});

/**
 * MBPP (Austin et al. 2021, https://arxiv.org/abs/2108.07732). The completion format is the paper's, with 3 worked
 * examples.
 */
export const mbppBenchmark: Benchmark = functionBenchmark({
  id: "mbpp",
  description: "MBPP: 500 short Python programs from a sentence and three tests.",
  dataset: "mbpp",
  options: { shareTests: true },
  // The slowest solution of MBPP takes up to 3 s in CPython and up to 6 s in Pyodide.
  cpuSeconds: 10,
  completionShots: 3,
  completion: {
    prompt: ({ prompt, suite }) => {
      const tests = visibleTests(suite).map(({ text }) => (text.startsWith("assert") ? text : `assert ${text}`));
      const task = `You are an expert Python programmer, and here is your task: ${prompt}`;
      return `${task} Your code should pass these tests:\n\n${tests.join("\n")}\n[BEGIN]\n`;
    },
    answer: (text) => fenced("python", text),
    demonstrate: ({ solution }) => solution,
    stop: ["[DONE]"],
  },
});

/**
 * HumanEval in JavaScript, from MultiPL-E (Cassano et al. 2022, https://arxiv.org/abs/2208.08227), with its stop
 * sequences.
 */
export const multiplEJavascriptBenchmark: Benchmark = functionBenchmark({
  id: "multipl-e-js",
  description: "HumanEval in JavaScript.",
  dataset: "humaneval-js",
  completion: sourceCompletion(["\nfunction ", "\n/*", "\n//", "\nconsole.log"]),
});

/** HumanEval in TypeScript, from MultiPL-E, with its stop sequences. */
export const multiplETypescriptBenchmark: Benchmark = functionBenchmark({
  id: "multipl-e-ts",
  description: "HumanEval in TypeScript.",
  dataset: "humaneval-ts",
  completion: sourceCompletion(["\nfunction ", "\n/*", "\n//", "\nclass"]),
});

/** CoopHumanEval (CoMLRL): two agents write a function and its helper simultaneously. */
export const coopHumanEvalBenchmark: Benchmark = defineBenchmark({
  id: "coophumaneval",
  description: "CoopHumanEval: two agents write a function and a helper for it at the same time.",
  maxTokens: 512,
  correct: { stated: true },
  open: async ({ set, openPolicy }) => {
    const fixed = { dataset: "coop-humaneval", agents: 2 } as const;
    return openCode(withFixedOptions("coophumaneval", { set: { maxTurns: 1, ...set }, fixed }), openPolicy);
  },
});

/**
 * ClassEval (Du et al. 2023, https://arxiv.org/abs/2308.01861) in its holistic form: one answer contains the whole
 * class.
 */
export const classEvalBenchmark: Benchmark = defineBenchmark({
  id: "classeval",
  description: "ClassEval: 100 Python classes. With agents=2 or more, the methods are split between agents.",
  maxTokens: 2048,
  correct: { stated: true },
  open: async ({ set, openPolicy: open }) =>
    openEnvironment(classCompletionEntry, { options: { maxTurns: 1, ...set }, open }),
});
