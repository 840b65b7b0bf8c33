import type { Action, AgentId } from "../../../src/contract/action.ts";
import type {
  Environment,
  EnvironmentFactory,
  EnvironmentSpec,
  Observations,
  StepResult,
} from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { textOf } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { type Reward, scored } from "../../../src/contract/reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import type { JointAction, JointNode, JointTree } from "../../../src/core/rollout/joint-action.ts";
import { type JointRolloutOptions, jointRollout } from "../../../src/core/rollout/joint-rollout.ts";
import { numbers, observe } from "./scripted-environment.ts";

/** What a {@link jointEnvironment} returns for one step. The last entry of `history` has this step's texts. */
export interface JointStep {
  readonly task: number;
  readonly turn: number;
  readonly history: readonly Readonly<Record<AgentId, string>>[];
  readonly texts: Readonly<Record<AgentId, string>>;
}

export interface JointEnvironmentOptions {
  readonly agents?: readonly AgentId[];
  readonly maxTurns: number;
  readonly deterministic?: boolean;
  /** Whether instances can be forked. */
  readonly forks: boolean;
  /** The agents that are observed at a turn. All by default. */
  readonly acting?: (turn: number) => readonly AgentId[];
  /** 1 for each agent by default. */
  readonly reward?: (step: JointStep, agent: AgentId) => number | Reward | undefined;
  /** Ends the episode before `maxTurns`. May throw, wait or hang. */
  readonly over?: (step: JointStep) => unknown;
  readonly onFork?: (count: number) => unknown;
  readonly scoreGroup?: EnvironmentFactory<number>["scoreGroup"];
}

/** The number of calls of each function. */
export interface JointCalls {
  create: number;
  reset: number;
  step: number;
  fork: number;
  close: number;
  /** The largest number of concurrent calls of `step`. */
  most: number;
}

/** An environment whose state is the history of its messages. Observations contain it. */
export function jointEnvironment(
  options: JointEnvironmentOptions,
): EnvironmentFactory<number> & { readonly calls: JointCalls } {
  const { agents = ["agent"], maxTurns, deterministic = true, acting = () => agents } = options;
  const spec: EnvironmentSpec = { id: "joint", agents, maxTurns, rewardRange: [-100, 100], deterministic };
  const calls: JointCalls = { create: 0, reset: 0, step: 0, fork: 0, close: 0, most: 0 };
  let running = 0;

  const instance = (start: { readonly task: number; readonly history: JointStep["history"] }): Environment<number> => {
    let { task, history } = start;
    let busy = false;
    const exclusive = async <T>(call: () => T | Promise<T>): Promise<T> => {
      if (busy) throw new Error("One call at a time.");
      busy = true;
      try {
        return await call();
      } finally {
        busy = false;
      }
    };
    const seen = (text: string): Observations => {
      const observed = acting(history.length);
      return observed.length === 0 ? {} : observe(text, ...observed);
    };
    const step = async (actions: Readonly<Record<AgentId, Action>>): Promise<StepResult> => {
      calls.step += 1;
      const turn = history.length;
      const texts = Object.fromEntries(Object.entries(actions).map(([agent, { message }]) => [agent, textOf(message)]));
      history = [...history, texts];
      const told = { task, turn, history, texts };
      running += 1;
      calls.most = Math.max(calls.most, running);
      const over = Boolean(await (async () => options.over?.(told))().finally(() => (running -= 1)));
      const ended = over || history.length >= maxTurns;
      const results = agents.map((agent) => {
        const reward = options.reward === undefined ? 1 : options.reward(told, agent);
        const worth = reward === undefined ? {} : { reward: typeof reward === "number" ? scored(reward) : reward };
        return [agent, { ...worth, terminated: ended, truncated: false }] as const;
      });
      return {
        observations: ended ? {} : seen(JSON.stringify(history)),
        agents: Object.fromEntries(results),
      };
    };
    const environment: Environment<number> = {
      specificationVersion: "v1",
      spec,
      reset: (given) =>
        exclusive(() => {
          calls.reset += 1;
          task = given.task;
          history = [];
          return seen(`task ${task}, seed ${given.seed}`);
        }),
      step: (actions) => exclusive(() => step(actions)),
      close: async () => {
        calls.close += 1;
      },
    };
    if (options.forks) {
      environment.fork = () =>
        exclusive(async () => {
          calls.fork += 1;
          await options.onFork?.(calls.fork);
          return instance({ task, history });
        });
    }
    return environment;
  };

  return {
    specificationVersion: "v1",
    spec,
    calls,
    create: async () => {
      calls.create += 1;
      return instance({ task: -1, history: [] });
    },
    ...(options.scoreGroup === undefined ? {} : { scoreGroup: options.scoreGroup }),
  };
}

/**
 * Plays tasks 0, 1, ... with a policy that answers with its seed. By default 3 completions each, aligned, in a tree.
 */
export async function playTrees(
  options: Partial<JointRolloutOptions<number>> & Pick<JointRolloutOptions<number>, "environment">,
): Promise<JointTree[]> {
  return Array.fromAsync(
    jointRollout({
      tasks: numbers(1),
      policies: seedPolicy,
      seed: 3,
      shape: { groupSize: 3, mode: "align", turns: "tree" },
      ...options,
    }),
  );
}

/** The tree of task 0. */
export async function playTree(options: Parameters<typeof playTrees>[0]): Promise<JointTree> {
  return (await playTrees(options))[0]!;
}

/** A policy that answers with the seed of the request. */
export const seedPolicy: Policy = scriptedPolicy(({ seed }) => String(seed));

/** A policy that answers with its index in the group, as a letter from a. */
export const letterPolicy: Policy = scriptedPolicy(({ episode }) => String.fromCharCode(97 + episode!.sampleIndex));

/** Returns the nodes, parents before children. */
export function nodesOf(node: JointNode | undefined): readonly JointNode[] {
  return node === undefined ? [] : [node, ...playedIn(node).flatMap(({ child }) => nodesOf(child))];
}

/** Returns all joint actions of a node, including that of `randomIndependent`. */
export function playedIn({ jointActions, handoffAction }: JointNode): readonly JointAction[] {
  return handoffAction === undefined ? jointActions : [...jointActions, handoffAction];
}

/** Removes the fields that depend on timing. */
export function content<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === "durationMs" ? 0 : part)));
}

/** Returns an agent's reward in a joint action. Undefined if it is unscored. */
export function rewardValue({ rewards }: JointAction, agent = "agent"): number | undefined {
  const reward = rewards[agent]!;
  return reward.status === "scored" ? reward.value : undefined;
}

/** Returns an agent's messages in an episode, by turn. */
export function actionTexts(episode: Episode, agent = "agent"): string[] {
  const { nodes, turns } = episode.agents[agent]!;
  return turns.map(({ node }) => textOf(nodes[node]!.message));
}
