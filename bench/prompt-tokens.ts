import { codeEnvironment } from "../environments/code/code.ts";
import type { CodeOptions } from "../environments/code/code-options.ts";
import type { CodeProblem } from "../environments/shared/code-benchmarks/code-problem.ts";
import { scriptedPolicy } from "../src/core/policy/scripted-policy.ts";
import { rollout } from "../src/core/rollout/rollout.ts";
import { loadRenderer } from "../src/core/tokens/load-renderer.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

type Setting = Pick<CodeOptions, "history" | "originalPrompt" | "previousResponse">;

const settings: readonly Setting[] = (["conversation", "latest"] as const).flatMap((history) =>
  [true, false].flatMap((originalPrompt) =>
    [true, false].map((previousResponse) => ({ history, originalPrompt, previousResponse })),
  ),
);

const helper =
  "def aux(values):\n    counts = {}\n    for value in values:\n        counts[value] = 0\n    return counts";

/**
 * Counts the prompt tokens of turn 2 on all of CoopHumanEval, by what a later prompt shows: the mean over both agents,
 * in the mode `level_feedback`. Placeholder answers are used for turn 1: aux gives a helper of five lines, and main
 * gives the problem's own beginning with an empty body. `PROMPT_TOKENS_MODEL` is the folder of a model with a chat
 * template. `PROMPT_TOKENS_DATA` is a file of CoopHumanEval (from the Hugging Face hub by default).
 */
export const promptTokens: Benchmark = { prefix: "prompt-tokens", run };

async function run(): Promise<BenchmarkResult[]> {
  const { PROMPT_TOKENS_MODEL: folder, PROMPT_TOKENS_DATA: path } = process.env;
  if (folder === undefined) {
    console.error("prompt-tokens is left out: PROMPT_TOKENS_MODEL names no folder of a model.");
    return [];
  }
  const renderer = await loadRenderer(folder);
  const results: BenchmarkResult[] = [];
  for (const setting of settings) {
    const environment = codeEnvironment({
      dataset: "coop-humaneval",
      agents: 2,
      maxTurns: 2,
      rewardEveryTurn: true,
      sandbox: "pyodide",
      ...setting,
      path,
    });
    const prompts: number[] = [];
    const policies = scriptedPolicy(({ agent, messages, episode }) => {
      if (episode!.turn === 1) prompts.push(renderer.start({ messages }).length);
      const { prompt } = episode!.task.task as CodeProblem;
      return `\`\`\`python\n${agent === "aux" ? helper : `${prompt.trimEnd()}\n    return None`}\n\`\`\``;
    });
    const tasks = await environment.tasks("test");
    for await (const event of rollout({ environment, tasks, policies, seed: 1, concurrency: 4 })) {
      if (event.type === "warning") throw event.error;
    }
    const shown = [
      setting.history,
      ...(setting.originalPrompt ? ["original-prompt"] : []),
      ...(setting.previousResponse ? ["previous-response"] : []),
    ];
    const value = prompts.reduce((sum, tokens) => sum + tokens, 0) / prompts.length;
    results.push({ name: `prompt-tokens/${shown.join("+")}`, value, unit: `tokens (${prompts.length} prompts)` });
  }
  return results;
}
