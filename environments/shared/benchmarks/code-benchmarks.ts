import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { openEnvironment } from "../../../src/core/environment/registry.ts";
import { classCompletionEntry } from "../../class-completion/class-completion.ts";
import { codeEntry } from "../../code/code.ts";
import type { CodeOptions } from "../../code/code-options.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { fenced } from "../code-turns/code-block.ts";
import { visibleTests } from "../code-turns/visible-tests.ts";
import type { Benchmark, BenchmarkOptions } from "./benchmark.ts";
import { withFixedOptions } from "./fixed-options.ts";
import { type PromptFormat, withPromptFormat } from "./prompt-format.ts";

/** A benchmark of functions that one agent writes in one turn. */
function functionBenchmark(definition: {
  readonly name: string;
  readonly description: string;
  readonly dataset: CodeOptions["dataset"];
  readonly completion: PromptFormat<CodeProblem>;
  readonly completionShots?: number;
  readonly options?: { readonly shareTests?: boolean };
  /** Processor time of one problem's tests, in seconds; by default the 3 of the HumanEval harness. */
  readonly cpuSeconds?: number;
}): Benchmark {
  const { name, description, dataset, completion, completionShots = 0, options = {}, cpuSeconds = 3 } = definition;
  return {
    name,
    description,
    split: "test",
    formats: {
      chat: { shots: 0 },
      completion: { shots: completionShots, ...(completion.stop === undefined ? {} : { stop: completion.stop }) },
    },
    maxTokens: 512,
    correct: { stated: true },
    open: async ({ set, format, shots, openPolicy, signal }) => {
      // Of processor time, so that a busy machine changes no verdict.
      const defaults = { cpuSeconds, maxTurns: 1 };
      const fixed = { ...options, dataset, agents: 1 } as const;
      const environment = await openCode(withFixedOptions(name, { set: { ...defaults, ...set }, fixed }), openPolicy);
      if (format === "chat") return environment;
      if (shots === 0) return withPromptFormat(environment, completion);
      const examples = await environment.tasks("prompt", signal === undefined ? {} : { signal });
      // The paper's: problems 2, 3 and 4.
      const worked = await Promise.all(Array.from({ length: shots }, (_, i) => examples.get(i + 1)));
      const before = worked.map(({ task }) => workedText(task, completion)).join("");
      return withPromptFormat(environment, { ...completion, prompt: (task) => `${before}${completion.prompt(task)}` });
    },
  };
}

/** The code environment with the expert that its options may name. */
function openCode(
  options: Readonly<Record<string, unknown>>,
  open: BenchmarkOptions["openPolicy"],
): Promise<EnvironmentDefinition<CodeProblem>> {
  return openEnvironment(codeEntry, { options, open }) as Promise<EnvironmentDefinition<CodeProblem>>;
}

function workedText(task: CodeProblem, { prompt, demonstrate }: PromptFormat<CodeProblem>): string {
  return `${prompt(task)}${demonstrate?.(task) ?? ""}\n[DONE]\n\n`;
}

/** The prompt is the beginning of the source, and the completion the rest of it. */
function sourceCompletion(stop: readonly string[]): PromptFormat<CodeProblem> {
  return {
    prompt: ({ prompt }) => prompt,
    answer: (text, { prompt, suite }) => fenced(suite.language, prompt + text),
    demonstrate: ({ prompt, solution }) => (solution?.startsWith(prompt) ? solution.slice(prompt.length) : undefined),
    stop,
  };
}

/** HumanEval (Chen et al. 2021, https://arxiv.org/abs/2107.03374). Completion: the paper's, with its stops. */
export const humanEvalBenchmark: Benchmark = functionBenchmark({
  name: "humaneval",
  description: "HumanEval: 164 Python functions from their docstrings.",
  dataset: "humaneval",
  completion: sourceCompletion(["\nclass", "\ndef", "\n#", "\nif", "\nprint"]),
});

/** MBPP (Austin et al. 2021, https://arxiv.org/abs/2108.07732). Completion: the paper's, 3 worked examples. */
export const mbppBenchmark: Benchmark = functionBenchmark({
  name: "mbpp",
  description: "MBPP: 500 short Python programs from a sentence and three tests.",
  dataset: "mbpp",
  options: { shareTests: true },
  // The slowest of its own solutions takes up to 3 in CPython, and 6 in Pyodide.
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

/** HumanEval in JavaScript, by MultiPL-E (Cassano et al. 2022, https://arxiv.org/abs/2208.08227), with its stops. */
export const multiplEJavascriptBenchmark: Benchmark = functionBenchmark({
  name: "multipl-e-js",
  description: "HumanEval in JavaScript.",
  dataset: "humaneval-js",
  completion: sourceCompletion(["\nfunction ", "\n/*", "\n//", "\nconsole.log"]),
});

/** HumanEval in TypeScript, by MultiPL-E, with its stops. */
export const multiplETypescriptBenchmark: Benchmark = functionBenchmark({
  name: "multipl-e-ts",
  description: "HumanEval in TypeScript.",
  dataset: "humaneval-ts",
  completion: sourceCompletion(["\nfunction ", "\n/*", "\n//", "\nclass"]),
});

/** CoopHumanEval (CoMLRL): two agents write a function and its helper at once. */
export const coopHumanEvalBenchmark: Benchmark = {
  name: "coophumaneval",
  description: "CoopHumanEval: two agents write a function and a helper for it at the same time.",
  split: "test",
  formats: { chat: { shots: 0 } },
  maxTokens: 512,
  correct: { stated: true },
  open: async ({ set, openPolicy }) => {
    const fixed = { dataset: "coop-humaneval", agents: 2 } as const;
    return openCode(withFixedOptions("coophumaneval", { set: { maxTurns: 1, ...set }, fixed }), openPolicy);
  },
};

/** ClassEval (Du et al. 2023, https://arxiv.org/abs/2308.01861), holistic: the whole class at once. */
export const classEvalBenchmark: Benchmark = {
  name: "classeval",
  description: "ClassEval: 100 Python classes, whole or, with agents=2 and more, split between agents.",
  split: "test",
  formats: { chat: { shots: 0 } },
  maxTokens: 2048,
  correct: { stated: true },
  open: async ({ set, openPolicy: open }) =>
    openEnvironment(classCompletionEntry, { options: { maxTurns: 1, ...set }, open }),
};
