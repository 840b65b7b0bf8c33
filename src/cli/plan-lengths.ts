import { findModel } from "../../trainers/backends/onnx/model-folder.ts";
import type { ModelConfig } from "../../trainers/config/model-config.ts";
import { type Interval, interval } from "../../trainers/plan/interval.ts";
import type { EnvironmentDefinition, Observation } from "../contract/environment.ts";
import { textOf } from "../contract/message.ts";
import { createByteRenderer } from "../core/tokens/byte-renderer.ts";
import { loadTokenizer } from "../core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../core/tokens/load-renderer.ts";

/** The number of tasks whose prompts are measured. */
const measuredTasks = 16;

/** The lengths of a task's texts, in tokens. */
export interface MeasuredLengths {
  readonly prompt: Interval;
  /** Of the first turn of demonstrations. Undefined if there are none. */
  readonly demonstration: Interval | undefined;
}

/**
 * Measures the tokens of the first prompts, and of demonstrated answers, on the first tasks of a split. Models with a
 * chat template of their own are measured with the tokenizer alone.
 */
export async function measureLengths(options: {
  readonly environment: EnvironmentDefinition;
  readonly split: string;
  readonly model: ModelConfig;
  readonly signal: AbortSignal;
}): Promise<MeasuredLengths> {
  const { environment, split, signal } = options;
  const count = await tokenCounter(options);
  const tasks = await environment.tasks(split, { signal });
  const prompts: number[] = [];
  const answers: number[] = [];
  const instance = await environment.create();
  try {
    for (
      let index = 0;
      index < measuredTasks && index < Number(tasks.length === "unbounded" ? measuredTasks : tasks.length);
      index++
    ) {
      const { task } = await tasks.get(index);
      const observations = await instance.reset({ task, seed: 0, signal });
      for (const observation of Object.values(observations)) prompts.push(count.prompt(observation));
      const [first = {}] = environment.demonstrate?.(task, { seed: 0 }) ?? [];
      for (const answer of Object.values(first)) {
        answers.push(count.text(typeof answer === "string" ? answer : textOf(answer)) + 1);
      }
    }
  } finally {
    await instance.close();
  }
  return { prompt: spread(prompts), demonstration: answers.length === 0 ? undefined : spread(answers) };
}

interface TokenCounter {
  prompt(observation: Observation): number;
  text(text: string): number;
}

async function tokenCounter({ model }: { readonly model: ModelConfig }): Promise<TokenCounter> {
  if (model.path === undefined) {
    const renderer = createByteRenderer();
    return {
      prompt: ({ messages, tools = [] }) => renderer.start({ messages, tools }).length,
      text: (text) => Buffer.byteLength(text),
    };
  }
  const { folder } = await findModel(model.path, {
    weights: false,
    ...(model.revision === undefined ? {} : { revision: model.revision }),
  });
  const tokenizer = await loadTokenizer(folder);
  const text = (given: string): number => tokenizer.encode(given).length;
  if (model.chatTemplate !== undefined) {
    return { text, prompt: ({ messages }) => text(messages.map(textOf).join("\n")) };
  }
  const variables = model.templateVariables;
  const renderer = await loadRenderer(folder, { tokenizer, ...(variables === undefined ? {} : { variables }) });
  return { text, prompt: ({ messages, tools = [] }) => renderer.start({ messages, tools }).length };
}

function spread(lengths: readonly number[]): Interval {
  const sorted = lengths.toSorted((a, b) => a - b);
  if (sorted.length === 0) return interval(1, 1, 1);
  const mean = sorted.reduce((sum, length) => sum + length, 0) / sorted.length;
  return interval(sorted[0]!, mean, sorted.at(-1)!);
}
