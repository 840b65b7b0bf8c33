import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Message } from "../../../src/contract/message.ts";
import { promptMessages } from "../../../src/contract/prompt.ts";
import { demonstratedMessage } from "../../../src/core/policy/demonstration-policy.ts";
import { transformObservation } from "../../../src/core/wrappers/transform-observation.ts";
import type { BenchmarkOptions } from "./benchmark.ts";
import { withPromptFormat } from "./prompt-format.ts";

/** A question with a worked solution, as in the math environments. */
export interface WorkedTask {
  readonly question: string;
  readonly solution: string;
}

/** The texts before questions and solutions in a completion prompt. */
export interface QuestionMarks {
  readonly question: string;
  readonly solution: string;
  readonly between: string;
}

/**
 * Returns an environment of questions in a format. `chat` keeps the environment's prompt and adds worked examples as
 * earlier turns. `completion` joins the worked examples and the question into one text. The examples are the first
 * tasks of `train`.
 */
export async function withQuestionFormat<Task extends WorkedTask>(
  environment: EnvironmentDefinition<Task>,
  options: Pick<BenchmarkOptions, "format" | "shots" | "signal"> & {
    readonly marks: QuestionMarks;
    readonly stop: readonly string[];
  },
): Promise<EnvironmentDefinition<Task>> {
  const { format, shots, marks, stop } = options;
  const examples = await firstTasks(environment, shots, options.signal);
  if (format === "chat") return shots === 0 ? environment : withEarlierTurns(environment, examples);
  const asText = ({ question }: WorkedTask): string => `${marks.question}${question}${marks.between}${marks.solution}`;
  const worked = examples.map((task) => `${asText(task)} ${task.solution}\n\n`).join("");
  return withPromptFormat(environment, {
    prompt: (task) => `${worked}${asText(task)}`,
    demonstrate: ({ solution }) => ` ${solution}`,
    stop,
  });
}

/** Puts the examples before the question. Each is the environment's prompt and its demonstration. */
async function withEarlierTurns<Task>(
  environment: EnvironmentDefinition<Task>,
  examples: readonly Task[],
): Promise<EnvironmentDefinition<Task>> {
  const earlier: Message[] = [];
  const instance = await environment.create();
  const [agent] = environment.spec.agents as readonly [string];
  for (const task of examples) {
    const observations = await instance.reset({ task, seed: 0 });
    const answer = environment.demonstrate?.(task)?.[0]?.[agent] ?? "";
    earlier.push(...promptMessages(observations[agent]!.messages), demonstratedMessage(answer));
  }
  await instance.close();
  return transformObservation(environment, (observation, { turn }) =>
    turn === 0 ? { ...observation, messages: [...earlier, ...observation.messages] } : observation,
  );
}

async function firstTasks<Task>(
  environment: EnvironmentDefinition<Task>,
  count: number,
  signal: AbortSignal | undefined,
): Promise<Task[]> {
  if (count === 0) return [];
  const taskset = await environment.tasks(`train[:${count}]`, { signal });
  return Promise.all(Array.from({ length: count }, async (_, index) => (await taskset.get(index, { signal })).task));
}
