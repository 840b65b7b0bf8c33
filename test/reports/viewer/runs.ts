import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openMetricsWriter } from "../../../reports/training/metrics-file.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, Policy, TokenLogprob } from "../../../src/contract/policy.ts";
import { unscored } from "../../../src/contract/reward.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { evaluate } from "../../../src/evaluation/evaluate.ts";
import type { EvaluateOptions } from "../../../src/evaluation/evaluate-options.ts";
import type { EvaluationSummary } from "../../../src/evaluation/log/summary.ts";

/** Text that would run, load or hide if it were used as markup, and invisible characters. */
export const hostile =
  '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"></pre></script><!-- \u202eevil\u0000 &amp; ünïcode 🙂';

interface SumTask {
  readonly n: number;
  readonly level: string;
}

/**
 * A coder and a reviewer over two turns. Task n is solved if n is not a multiple of `hard`. Every ninth reward is
 * unscored, and every eleventh step throws. The first task's texts are hostile.
 */
export function pairEnvironment(count: number): EnvironmentDefinition<SumTask> {
  return defineParallelEnvironment({
    id: "pair",
    agents: ["coder", "reviewer"],
    tasks: Array.from({ length: count }, (_, n): SumTask => ({ n, level: n % 2 === 0 ? "easy" : "hard" })),
    groupOf: ({ level }) => level,
    maxTurns: 2,
    tools: [{ name: "run", description: "Runs code.", parameters: { type: "object", properties: {} } }],
    reset: ({ task: { n } }) => ({
      coder: `Write a function that adds ${n} to its argument.\n\n    def add_${n}(x: int) -> int:\n${n === 0 ? hostile : ""}`,
      reviewer: `Review a function that adds ${n}.`,
    }),
    step: ({ task: { n }, texts, turn }) => {
      if (n % 11 === 10) throw new Error(`The sandbox of task ${n} went away.`);
      const stdout = `test_add_${n} ... ${texts.coder.includes("return") ? "ok" : "FAILED"}\nRan 3 tests in 0.002s`;
      const info = { turn, sandbox: "bubblewrap", status: "ok", exitCode: 0, stdout, stderr: n === 0 ? hostile : "" };
      if (turn === 0) {
        return {
          replies: { coder: `The sandbox says:\n${stdout}`, reviewer: "The coder tries again." },
          reward: 0,
          info,
        };
      }
      if (n % 9 === 8) return { reward: unscored("The judge did not answer within 30 s."), info };
      const solved = texts.coder.includes("return x") ? 0.9 : 0;
      return { components: { syntax: 0.1, tests: solved }, info };
    },
  });
}

/**
 * A policy that solves tasks that are not a multiple of `hard`, with a tool call, reasoning, usage and
 * log-probabilities.
 */
export function pairPolicy(name: string, { hard }: { readonly hard: number }): Policy {
  return {
    specificationVersion: "v1",
    name,
    accepts: ["text"],
    act: async ({ agent, episode, seed }: ActRequest) => {
      const { n } = episode!.task.task as SumTask;
      const { turn } = episode!;
      const random = createRandom(seed);
      const text =
        agent === "reviewer"
          ? `Looks ${n % hard === 0 ? "wrong: it returns nothing" : "right"} to me.${n === 0 ? hostile : ""}`
          : `def add_${n}(x: int) -> int:\n    ${n % hard === 0 ? "pass" : `return x + ${n}`}\n`;
      const logprobs = tokensOf(text).map((token): TokenLogprob => {
        const sure = random.next() < 0.7;
        return { text: token, logprob: sure ? -0.02 * random.next() : -5 * random.next() };
      });
      const message = textMessage("assistant", text);
      const calls =
        agent === "coder" && turn === 0
          ? { toolCalls: [{ id: "call-1", name: "run", arguments: { code: text, timeout: 5 } }] }
          : {};
      const reasoning = { type: "reasoning", text: `It is about ${n}.` } as const;
      return {
        action: {
          message: { ...message, content: turn === 1 ? [reasoning, ...message.content] : message.content, ...calls },
          finish: n % 7 === 6 ? "length" : "stop",
        },
        // Turn 0 has no log-probabilities.
        ...(turn === 1 && agent === "coder" ? { logprobs } : {}),
        usage: { promptTokens: 100 + n, completionTokens: logprobs.length },
        latencyMs: 120 + n,
      };
    },
  };
}

function tokensOf(text: string): string[] {
  return text.match(/\s*\w+|\s*[^\s\w]|\s+/gu) ?? [];
}

/** Evaluates {@link pairPolicy} in {@link pairEnvironment} into a folder. */
export async function evaluatePair(
  folder: string,
  options: { readonly tasks?: number; readonly hard?: number; readonly name?: string } & Partial<
    Omit<EvaluateOptions<SumTask>, "tasks">
  > = {},
): Promise<EvaluationSummary> {
  const { tasks = 40, hard = 3, name = "small-coder", ...rest } = options;
  const policies = pairPolicy(name, { hard });
  const events = evaluate({
    environment: pairEnvironment(tasks),
    policies,
    folder,
    correct: { component: "tests", atLeast: 0.9 },
    ...rest,
  });
  let summary: EvaluationSummary | undefined;
  for await (const event of events) if (event.type === "end") summary = event.summary;
  return summary!;
}

/** The events of a training of `steps` steps, of which `taken` are done. */
export function* trainingEvents(steps: number, taken: number = steps): Generator<TrainingEvent, void, undefined> {
  const random = createRandom(5);
  const model = { name: "SmolLM2-135M-Instruct", trainableParameters: 4_884_480, device: "cpu" };
  yield { type: "run-start", algorithm: "grpo", environment: "gsm8k", model, seed: 1, steps, resumedFrom: 0 };
  for (let step = 1; step <= taken; step++) {
    const reward = 0.8 * (1 - Math.exp(-step / 60)) + 0.05 * (random.next() - 0.5);
    yield {
      type: "step",
      step,
      steps,
      metrics: {
        "reward/mean": reward,
        "reward/std": 0.3 * Math.exp(-step / 100),
        "loss/total": 0.02 * (random.next() - 0.5),
        "kl/reference": 0.0004 * step * random.next(),
        "entropy/sampled": 1.2 * Math.exp(-step / 90),
        "optimizer/gradient-norm": 0.5 + random.next(),
        "optimizer/learning-rate": 1e-5,
        "length/completion-mean": 120 + 20 * random.next(),
        "tokens/sampled-per-second": 700 + 50 * random.next(),
        "time/rollout-ms": 4_000 + 100 * random.next(),
        "time/update-ms": 2_000 + 100 * random.next(),
      },
      elapsedMs: step * 6_000,
      etaMs: (steps - step) * 6_000,
    };
    if (step % 25 === 0) {
      yield { type: "sample", step, prompt: "How many apples are 3 and 4?", completion: `${hostile}\n#### 7`, reward };
      yield {
        type: "evaluation",
        step,
        split: "test",
        metrics: { accuracy: reward, "reward/mean": reward, "episodes/count": 100 },
      };
    }
    if (step === 30)
      yield { type: "warning", step, check: "entropy", message: "The entropy fell by half within 20 steps." };
  }
  if (taken === steps) yield { type: "run-end", reason: "completed", step: steps, elapsedMs: steps * 6_000 };
}

/** Writes events to a training's metrics file. */
export async function writeTraining(folder: string, events: Iterable<TrainingEvent>): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using writer = await openMetricsWriter({
    path: join(folder, "metrics.jsonl"),
    resumedFrom: 0,
    config: { algorithm: { id: "grpo" }, training: { steps: 200, learningRate: 1e-5 } },
  });
  for (const event of events) await writer.append(event);
}
