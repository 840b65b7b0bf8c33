import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { unscored } from "../../src/contract/reward.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { type ScriptedAnswer, scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import type { EvaluateOptions } from "../../src/evaluation/evaluate-options.ts";
import type { EvaluationSummary } from "../../src/evaluation/log/summary.ts";

/** A new folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-evaluate-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A task of {@link answers}. */
export interface AnswerTask {
  readonly n: number;
  readonly level?: string;
}

/** An environment with one turn. The answer is the reward: a number, `unscored`, or `throw`, a server failure. */
export function answers(tasks: readonly AnswerTask[]): EnvironmentDefinition<AnswerTask> {
  return defineEnvironment<AnswerTask>({
    id: "answers",
    tasks,
    groupOf: ({ level }) => level,
    reset: ({ task }) => `question ${task.n}`,
    step: ({ text }) => {
      if (text === "throw") throw Object.assign(new Error("thrown"), { code: "ECONNRESET" });
      if (text === "unscored") return { reward: unscored("nobody looked") };
      return { components: { worth: Number(text) } };
    },
  });
}

/** Evaluates a table of answers by task and sample. Returns the summary. */
export async function evaluated(
  table: readonly (readonly ScriptedAnswer[])[],
  options: Partial<EvaluateOptions<AnswerTask>> & { readonly folder: string },
): Promise<EvaluationSummary> {
  const policies = scriptedPolicy(({ episode }) => table[episode!.task.index]![episode!.sampleIndex]!, {
    name: "table",
  });
  const environment = answers(table.map((_, n) => ({ n })));
  const samples = table[0]!.length;
  const events = await Array.fromAsync(evaluate({ environment, policies, samples, ...options }));
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("There is no summary.");
  return end.summary;
}
