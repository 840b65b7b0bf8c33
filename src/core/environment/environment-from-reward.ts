import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { locateAs } from "../../contract/errors/function-location.ts";
import type { Prompt } from "../../contract/prompt.ts";
import type { Reward } from "../../contract/reward.ts";
import type { StepJudge } from "../judge/counted-judge.ts";
import type { JudgeListing } from "../judge/judge.ts";
import type { Criterion } from "../rubric/criterion.ts";
import { type Rubric, rubric } from "../rubric/rubric.ts";
import { defineEnvironment } from "./define-environment.ts";
import { type DefinitionBase, defineParallelEnvironment } from "./define-parallel-environment.ts";

/** The result of a reward function: a number, a reward, or named components whose sum is the reward. */
export type RewardValue = number | Reward | Readonly<Record<string, number>>;

/**
 * A reward function, criteria, or a rubric. The reward range of criteria is computed from their weights. Group criteria
 * receive all answers of a group. The context type is inferred for a list of criteria. `rubric` needs it as a type
 * argument: `rubric<{ task: Task }>`.
 */
export type RewardSource<Context extends object> =
  | ((context: Context) => RewardValue | Promise<RewardValue>)
  | readonly Criterion<Context>[]
  | Rubric<Context>;

type WholeReward<Context> = Exclude<RewardSource<Context & object>, readonly unknown[]>;

/** The context of a reward function for one agent. */
export interface AnswerContext<Task> {
  readonly task: Task;
  /** The text of the answer, without reasoning. */
  readonly text: string;
  /** The judge model of the environment, for `score` of its judges. */
  readonly judge?: StepJudge;
  readonly signal?: AbortSignal;
}

/** The context of a reward function for several agents. */
export interface TeamContext<Agent extends string, Task> {
  readonly task: Task;
  /** The text of each agent's answer, without reasoning. */
  readonly texts: Readonly<Record<Agent, string>>;
  /** The judge model of the environment, for `score` of its judges. */
  readonly judge?: StepJudge;
  readonly signal?: AbortSignal;
}

/**
 * The options of {@link environmentFromReward} for one agent and for several. `id` is "reward" by default. `judges` are
 * those that a reward function asks. The judges among criteria are listed by themselves.
 */
export interface RewardDefinitionBase<Task>
  extends Pick<
    DefinitionBase<Task, undefined>,
    "description" | "tasks" | "splits" | "rewardRange" | "deterministic" | "judges" | "groupOf"
  > {
  readonly id?: string;
}

/** An environment in which one agent gives one answer. */
export interface AnswerDefinition<Task> extends RewardDefinitionBase<Task> {
  /** Returns the prompt of a task. */
  readonly prompt: (task: Task) => Prompt;
  readonly reward: RewardSource<AnswerContext<Task>>;
  /** Returns the answer of an expert, or undefined if none is known. */
  readonly demonstrate?: (task: Task) => string | undefined;
}

/** An environment in which each of several agents gives one answer. All receive the same joint reward. */
export interface TeamDefinition<Agent extends string, Task> extends RewardDefinitionBase<Task> {
  /** The prompt function of each agent. Its keys are the ids of the agents, in their order. */
  readonly prompts: Readonly<Record<Agent, (task: Task) => Prompt>>;
  readonly reward: RewardSource<TeamContext<Agent, Task>>;
  /** Returns the answers of experts, or undefined if none are known. */
  readonly demonstrate?: (task: Task) => Readonly<Record<NoInfer<Agent>, string>> | undefined;
}

/**
 * Creates an environment of one turn from a data set, a prompt (or one prompt function per agent) and a reward
 * function. If the function throws or returns `unscored(reason)`, the episode is unscored.
 *
 * @example
 * import { environmentFromReward } from "lyceum";
 * export const environment = environmentFromReward({
 *   tasks: [{ question: "2 + 2", answer: 4 }],
 *   prompt: ({ question }) => `What is ${question}? Answer with a number.`,
 *   reward: ({ task, text }) => (Number(text) === task.answer ? 1 : 0),
 *   demonstrate: ({ answer }) => String(answer),
 * });
 * environment.spec.rewardRange; // => [0, 1]
 */
export function environmentFromReward<Task>(definition: AnswerDefinition<Task>): EnvironmentDefinition<Task>;
export function environmentFromReward<Task, const Agent extends string>(
  definition: TeamDefinition<Agent, Task>,
): EnvironmentDefinition<Task>;
export function environmentFromReward<Task>(
  definition: AnswerDefinition<Task> | TeamDefinition<string, Task>,
): EnvironmentDefinition<Task> {
  if ("prompt" in definition) {
    const reward = wholeReward(definition.reward);
    return { ...answerEnvironment(definition, reward), ...groupScorer(reward) };
  }
  const reward = wholeReward(definition.reward);
  return { ...teamEnvironment(definition, reward), ...groupScorer(reward) };
}

function wholeReward<Context extends object>(reward: RewardSource<Context>): WholeReward<Context> {
  return isList(reward) ? rubric(reward) : reward;
}

function isList<Context extends object>(reward: RewardSource<Context>): reward is readonly Criterion<Context>[] {
  return Array.isArray(reward);
}

function groupScorer(reward: WholeReward<never>): Pick<EnvironmentDefinition, "scoreGroup"> {
  return typeof reward === "function" || reward.scoreGroup === undefined ? {} : { scoreGroup: reward.scoreGroup };
}

function answerEnvironment<Task>(
  definition: AnswerDefinition<Task>,
  reward: WholeReward<AnswerContext<Task>>,
): EnvironmentDefinition<Task> {
  const { id = "reward", prompt, reward: _, ...base } = definition;
  return defineEnvironment<Task>({
    ...rangeOf(reward),
    ...base,
    ...listedJudges(reward, base.judges),
    id,
    reset: ({ task }) => prompt(task),
    step: locateAs(
      async ({ task, text, judge, signal }) => outcome(await ask(reward, { task, text, judge, signal })),
      reward,
    ),
  });
}

function teamEnvironment<Task>(
  definition: TeamDefinition<string, Task>,
  reward: WholeReward<TeamContext<string, Task>>,
): EnvironmentDefinition<Task> {
  const { id = "reward", prompts, reward: _, demonstrate, ...base } = definition;
  return defineParallelEnvironment<string, Task>({
    ...rangeOf(reward),
    ...base,
    ...listedJudges(reward, base.judges),
    id,
    agents: Object.keys(prompts),
    reset: ({ task }) => Object.fromEntries(Object.entries(prompts).map(([agent, prompt]) => [agent, prompt(task)])),
    step: locateAs(
      async ({ task, texts, judge, signal }) => outcome(await ask(reward, { task, texts, judge, signal })),
      reward,
    ),
    demonstrate:
      demonstrate &&
      ((task: Task) => {
        const answers = demonstrate(task);
        return answers === undefined ? undefined : [answers];
      }),
  });
}

function ask<Context extends { readonly signal?: AbortSignal }>(
  reward: WholeReward<Context>,
  context: Context,
): RewardValue | Promise<RewardValue> {
  return typeof reward === "function" ? reward(context) : reward.score(context);
}

function rangeOf(reward: WholeReward<never>): Pick<RewardDefinitionBase<unknown>, "rewardRange"> {
  return typeof reward === "function" ? {} : { rewardRange: reward.range };
}

function listedJudges(
  reward: WholeReward<never>,
  judges: readonly JudgeListing[] = [],
): { judges?: readonly JudgeListing[] } {
  const all = [...judges, ...(typeof reward === "function" ? [] : (reward.judges ?? []))];
  return all.length === 0 ? {} : { judges: all };
}

function outcome(value: RewardValue): { reward: number | Reward } | { components: Readonly<Record<string, number>> } {
  if (typeof value === "number" || isWholeReward(value)) return { reward: value };
  return { components: value };
}

function isWholeReward(value: Reward | Readonly<Record<string, number>>): value is Reward {
  return typeof value.status === "string";
}
