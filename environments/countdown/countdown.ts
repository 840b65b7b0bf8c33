import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { type CountdownTask, countdownTask, isHeldOut } from "./countdown-task.ts";
import { readExpression } from "./expression.ts";

/** The options of the Countdown environment. The schema describes each one. */
export type CountdownOptions = Readonly<z.output<typeof schema>>;

const schema = z.strictObject({
  numbers: z.int().min(3).max(6).default(3).describe("How many numbers a task has."),
  maximum: z.int().min(10).max(1_000).default(20).describe("The largest number. The smallest is 1."),
  maximumTarget: z.int().min(20).max(10_000).default(100).describe("The largest value to reach."),
  seed: z.int().default(0).describe("The seed of the tasks. It does not change which tasks are held out."),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe("The maximum number of tasks per split. By default, train is unbounded and test has 200 tasks."),
});

const description = "Countdown: reach a given value by an expression of given numbers.";

/**
 * Creates the Countdown environment with one agent and one turn. The reward is 1 for an expression that has the value of
 * the task and uses each number at most once, and otherwise 0. Values are computed exactly. `train` and `test` never
 * share a task.
 */
export function countdownEnvironment(options: Partial<CountdownOptions> = {}): EnvironmentDefinition<CountdownTask> {
  const { numbers: count, seed, limit, ...sizes } = parseEnvironmentOptions("countdown", schema, options);
  return defineEnvironment<CountdownTask>({
    id: "countdown",
    description,
    splits: ["train", "test"],
    tasks: (split) =>
      generatedTaskset<CountdownTask>({
        name: `countdown/${split}`,
        seed: deriveSeed(seed, split),
        length: limit ?? (split === "test" ? 200 : "unbounded"),
        generate: (random) => countdownTask(random, { count, ...sizes }),
        distinct: split === "test" || limit !== undefined,
        accept: ({ task }) => isHeldOut(task) === (split === "test"),
      }),
    maxTurns: 1,
    statesCorrect: true,
    reset: ({ task: { numbers, target } }) =>
      `Write an expression with the value ${target}. Use the numbers ${numbers.join(", ")}, each at most once, with + - * / ` +
      "and parentheses. The last line of your reply is the expression alone.",
    step: ({ task, text }) => {
      const correct = solves(text, task);
      return { reward: correct ? 1 : 0, correct };
    },
    demonstrate: ({ solution }) => solution,
  });
}

function solves(reply: string, { numbers, target }: CountdownTask): boolean {
  const expression = readExpression(reply);
  if (expression === undefined) return false;
  const left = [...numbers];
  for (const used of expression.numbers) {
    const place = left.indexOf(used);
    if (place < 0) return false;
    left.splice(place, 1);
  }
  const { numerator, denominator } = expression.value;
  return denominator === 1n && numerator === BigInt(target);
}

/** The registry entry of the Countdown environment. */
export const countdownEntry = defineEnvironmentEntry({
  id: "countdown",
  description,
  options: schema,
  create: countdownEnvironment,
});
