import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { writtenAs } from "../../contract/errors/function-location.ts";
import type { Prompt } from "../../contract/prompt.ts";
import type { Reward } from "../../contract/reward.ts";
import type { Criterion } from "../rubric/criterion.ts";
import { type Rubric, rubric } from "../rubric/rubric.ts";
import { defineEnvironment } from "./define-environment.ts";
import { type DefinitionBase, defineParallelEnvironment } from "./define-parallel-environment.ts";

/** What a reward function may give: a number, a reward, or named parts that add up to it. */
export type RewardValue = number | Reward | Readonly<Record<string, number>>;

/**
 * A reward function, criteria, or a rubric of them. Of criteria the range of the rewards is known, and those of groups
 * are asked. In a list of criteria the type of their context is inferred; `rubric` needs it: `rubric<{ task: Task }>`.
 */
export type RewardSource<Context extends object> =
  | ((context: Context) => RewardValue | Promise<RewardValue>)
  | readonly Criterion<Context>[]
  | Rubric<Context>;

type Judge<Context> = Exclude<RewardSource<Context & object>, readonly unknown[]>;

/** What a reward function of one agent is given. */
export interface AnswerContext<Task> {
  readonly task: Task;
  /** The text of the answer, reasoning left out. */
  readonly text: string;
  readonly signal?: AbortSignal;
}

/** What a reward function of several agents is given. */
export interface TeamContext<Agent extends string, Task> {
  readonly task: Task;
  /** The text of each agent's answer, reasoning left out. */
  readonly texts: Readonly<Record<Agent, string>>;
  readonly signal?: AbortSignal;
}

/** What {@link environmentFromReward} takes for one agent as for several; `id` is "reward" by default. */
export interface RewardDefinitionBase<Task>
  extends Pick<DefinitionBase<Task, undefined>, "description" | "tasks" | "splits" | "rewardRange" | "deterministic"> {
  readonly id?: string;
}

/** An environment of one answer of one agent. */
export interface AnswerDefinition<Task> extends RewardDefinitionBase<Task> {
  /** What the agent is asked. */
  readonly prompt: (task: Task) => Prompt;
  readonly reward: RewardSource<AnswerContext<Task>>;
  /** The answer of an expert; undefined where none is known. */
  readonly demonstrate?: (task: Task) => string | undefined;
}

/** An environment of one answer each of several agents, who earn one joint reward. */
export interface TeamDefinition<Agent extends string, Task> extends RewardDefinitionBase<Task> {
  /** What each agent is asked. The names of the agents are its keys, in their order. */
  readonly prompts: Readonly<Record<Agent, (task: Task) => Prompt>>;
  readonly reward: RewardSource<TeamContext<Agent, Task>>;
  /** The answers of experts; undefined where none are known. */
  readonly demonstrate?: (task: Task) => Readonly<Record<NoInfer<Agent>, string>> | undefined;
}

/**
 * An environment of one turn from a data set, a prompt (or one formatter for each agent) and a reward function. What
 * the function throws fails the episode, which is then unscored; so does a reward of `unscored(reason)`.
 */
export function environmentFromReward<Task>(definition: AnswerDefinition<Task>): EnvironmentDefinition<Task>;
export function environmentFromReward<Task, const Agent extends string>(
  definition: TeamDefinition<Agent, Task>,
): EnvironmentDefinition<Task>;
export function environmentFromReward<Task>(
  definition: AnswerDefinition<Task> | TeamDefinition<string, Task>,
): EnvironmentDefinition<Task> {
  if ("prompt" in definition) {
    const reward = judgeOf(definition.reward);
    return { ...answerEnvironment(definition, reward), ...groupScorer(reward) };
  }
  const reward = judgeOf(definition.reward);
  return { ...teamEnvironment(definition, reward), ...groupScorer(reward) };
}

function judgeOf<Context extends object>(reward: RewardSource<Context>): Judge<Context> {
  return isList(reward) ? rubric(reward) : reward;
}

function isList<Context extends object>(reward: RewardSource<Context>): reward is readonly Criterion<Context>[] {
  return Array.isArray(reward);
}

function groupScorer(reward: Judge<never>): Pick<EnvironmentDefinition, "scoreGroup"> {
  return typeof reward === "function" || reward.scoreGroup === undefined ? {} : { scoreGroup: reward.scoreGroup };
}

function answerEnvironment<Task>(
  definition: AnswerDefinition<Task>,
  reward: Judge<AnswerContext<Task>>,
): EnvironmentDefinition<Task> {
  const { id = "reward", prompt, reward: _, ...base } = definition;
  return defineEnvironment<Task>({
    ...rangeOf(reward),
    ...base,
    id,
    reset: ({ task }) => prompt(task),
    step: writtenAs(
      async ({ task, text, signal }) => outcome(await ask(reward, { task, text, ...signalled(signal) })),
      reward,
    ),
  });
}

function teamEnvironment<Task>(
  definition: TeamDefinition<string, Task>,
  reward: Judge<TeamContext<string, Task>>,
): EnvironmentDefinition<Task> {
  const { id = "reward", prompts, reward: _, demonstrate, ...base } = definition;
  return defineParallelEnvironment<string, Task>({
    ...rangeOf(reward),
    ...base,
    id,
    agents: Object.keys(prompts),
    reset: ({ task }) => Object.fromEntries(Object.entries(prompts).map(([agent, prompt]) => [agent, prompt(task)])),
    step: writtenAs(
      async ({ task, texts, signal }) => outcome(await ask(reward, { task, texts, ...signalled(signal) })),
      reward,
    ),
    ...(demonstrate === undefined
      ? {}
      : {
          demonstrate: (task: Task) => {
            const answers = demonstrate(task);
            return answers === undefined ? undefined : [answers];
          },
        }),
  });
}

function ask<Context extends { readonly signal?: AbortSignal }>(
  reward: Judge<Context>,
  context: Context,
): RewardValue | Promise<RewardValue> {
  return typeof reward === "function" ? reward(context) : reward.score(context);
}

function rangeOf(reward: Judge<never>): Pick<RewardDefinitionBase<unknown>, "rewardRange"> {
  return typeof reward === "function" ? {} : { rewardRange: reward.range };
}

function outcome(value: RewardValue): { reward: number | Reward } | { components: Readonly<Record<string, number>> } {
  if (typeof value === "number" || isWholeReward(value)) return { reward: value };
  return { components: value };
}

function isWholeReward(value: Reward | Readonly<Record<string, number>>): value is Reward {
  return typeof value.status === "string";
}

function signalled(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
