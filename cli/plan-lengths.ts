import type { EnvironmentDefinition, Observation } from "../src/contract/environment.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { textOf } from "../src/contract/message.ts";
import { startCall } from "../src/core/rollout/running-call.ts";
import { sum } from "../src/core/statistics.ts";
import { createByteRenderer } from "../src/core/tokens/byte-renderer.ts";
import { loadTokenizer } from "../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../src/core/tokens/load-renderer.ts";
import type { ModelConfig } from "../trainers/config/model-config.ts";
import { type Interval, interval } from "../trainers/plan/interval.ts";
import { findModelFolder } from "../trainers/plan/load-shape.ts";

/** The number of tasks whose prompts are measured. */
const measuredTasks = 16;

/** The lengths of a task's texts, in tokens. */
export interface MeasuredLengths {
  readonly prompt: Interval;
  /** The length of a demonstrated answer. Undefined without demonstrations. */
  readonly demonstration: Interval | undefined;
  /** The mean number of turns of an agent in demonstrations. Undefined without demonstrations. */
  readonly turns: number | undefined;
}

/**
 * Measures the tokens of the first prompts and of demonstrated answers on the first tasks of a split. If the config has
 * a chat template, prompts are counted without it. Throws `model.missing` if the model has no tokenizer on this machine
 * or on the hub.
 */
export async function measureLengths(options: {
  readonly environment: EnvironmentDefinition;
  readonly split: string;
  readonly model: ModelConfig;
  readonly signal: AbortSignal;
}): Promise<MeasuredLengths> {
  const { environment, split, signal } = options;
  const count = await tokenCounter(options).catch((error: unknown) => {
    throw withoutTokenizer(error);
  });
  const tasks = await environment.tasks(split, { signal });
  const prompts: number[] = [];
  const answers: number[] = [];
  let actors = 0;
  const instance = await environment.create();
  try {
    const length = tasks.length === "unbounded" ? measuredTasks : Math.min(measuredTasks, tasks.length);
    for (let index = 0; index < length; index++) {
      const { task } = await tasks.get(index);
      const observations = await startCall(
        { subject: `environment "${environment.spec.id}"`, call: "reset" },
        async () => instance.reset({ task, seed: 0, signal }),
      );
      for (const observation of Object.values(observations)) prompts.push(count.prompt(observation));
      const steps = environment.demonstrate?.(task, { seed: 0 }) ?? [];
      actors += new Set(steps.flatMap((step) => Object.keys(step))).size;
      for (const answer of steps.flatMap((step) => Object.values(step))) {
        // Adds the token that ends the turn.
        answers.push(count.text(typeof answer === "string" ? answer : textOf(answer)) + 1);
      }
    }
  } finally {
    await instance.close();
  }
  const prompt = spread(prompts);
  if (answers.length === 0) return { prompt, demonstration: undefined, turns: undefined };
  return {
    prompt,
    demonstration: spread(answers),
    turns: Math.max(1, Math.round(answers.length / Math.max(1, actors))),
  };
}

interface TokenCounter {
  prompt(observation: Observation): number;
  text(text: string): number;
}

async function tokenCounter({
  model,
  signal,
}: {
  readonly model: ModelConfig;
  readonly signal: AbortSignal;
}): Promise<TokenCounter> {
  if (model.path === undefined) {
    const renderer = createByteRenderer();
    return {
      prompt: ({ messages, tools = [] }) => renderer.start({ messages, tools }).length,
      text: (text) => Buffer.byteLength(text),
    };
  }
  const folder = await findModelFolder(model, signal);
  const tokenizer = await loadTokenizer(folder);
  const text = (given: string): number => tokenizer.encode(given).length;
  if (model.chatTemplate !== undefined) {
    return { text, prompt: ({ messages }) => text(messages.map(textOf).join("\n")) };
  }
  const variables = model.templateVariables;
  const renderer = await loadRenderer(folder, { tokenizer, ...(variables === undefined ? {} : { variables }) });
  return { text, prompt: ({ messages, tools = [] }) => renderer.start({ messages, tools }).length };
}

function withoutTokenizer(error: unknown): unknown {
  if (!LyceumError.isInstance(error) || !error.code.startsWith("model.")) return error;
  return new LyceumError({
    code: error.code,
    message: `Prompts cannot be measured without the model's tokenizer. ${error.message}`,
    hint: "Give the lengths: --prompt-tokens N --completion-tokens N.",
    cause: error,
  });
}

function spread(lengths: readonly number[]): Interval {
  const sorted = lengths.toSorted((a, b) => a - b);
  if (sorted.length === 0) return interval(1, 1, 1);
  const mean = sum(sorted) / sorted.length;
  return interval(sorted[0]!, mean, sorted.at(-1)!);
}
