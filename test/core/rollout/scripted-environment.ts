import type { Action, AgentId } from "../../../src/contract/action.ts";
import type {
  AgentStep,
  Environment,
  EnvironmentFactory,
  EnvironmentSpec,
  Observations,
  StepResult,
} from "../../../src/contract/environment.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import type { TaskEntry, Taskset } from "../../../src/contract/taskset.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";

/** The functions of one episode of a {@link scriptedEnvironment}. */
export interface EnvironmentScript<Task> {
  reset(options: { readonly task: Task; readonly seed: number; readonly signal: AbortSignal }): unknown;
  step(options: {
    readonly task: Task;
    readonly turn: number;
    readonly actions: Readonly<Record<AgentId, Action>>;
    readonly signal: AbortSignal;
  }): unknown;
}

/** An environment of two functions that may break the contract. It counts its instances. */
export function scriptedEnvironment<Task>(
  options: EnvironmentScript<Task> &
    Partial<Pick<EnvironmentSpec, "agents" | "maxTurns">> & {
      readonly create?: () => Promise<void>;
      readonly close?: () => Promise<void>;
      readonly scoreGroup?: EnvironmentFactory<Task>["scoreGroup"];
    },
): EnvironmentFactory<Task> & { readonly instances: { created: number; closed: number; resets: number[] } } {
  const spec: EnvironmentSpec = {
    id: "scripted",
    agents: options.agents ?? ["agent"],
    maxTurns: options.maxTurns ?? 10,
    rewardRange: [0, 10],
    deterministic: true,
  };
  const instances = { created: 0, closed: 0, resets: [] as number[] };
  return {
    specificationVersion: "v1",
    spec,
    instances,
    create: async () => {
      await options.create?.();
      const instance = instances.created;
      instances.created += 1;
      instances.resets.push(0);
      let task: Task;
      let turn = 0;
      const environment: Environment<Task> = {
        specificationVersion: "v1",
        spec,
        reset: async (reset) => {
          instances.resets[instance]! += 1;
          task = reset.task;
          turn = 0;
          return (await options.reset({ task, seed: reset.seed, signal: reset.signal! })) as Observations;
        },
        step: async (actions, step) => {
          const result = await options.step({ task, turn, actions, signal: step!.signal! });
          turn += 1;
          return result as StepResult;
        },
        close: async () => {
          instances.closed += 1;
          await options.close?.();
        },
      };
      return environment;
    },
    ...(options.scoreGroup === undefined ? {} : { scoreGroup: options.scoreGroup }),
  };
}

/** Observations with one user text for each of these agents. */
export function observe(text: string, ...agents: readonly AgentId[]): Observations {
  const names = agents.length === 0 ? ["agent"] : agents;
  return Object.fromEntries(
    names.map((agent) => [agent, { messages: [textMessage("user", text)], context: "append" as const }]),
  );
}

/** The step of an agent: its reward, and whether the episode ended. */
export function agentStep(value: number, terminated: boolean): AgentStep {
  return { reward: scored(value), terminated, truncated: false };
}

/** An environment with `turns` turns and a reward of 1 for each. */
export function countingEnvironment(turns: number): ReturnType<typeof scriptedEnvironment<number>> {
  return scriptedEnvironment<number>({
    maxTurns: turns,
    reset: ({ task }) => observe(`task ${task}`),
    step: ({ turn }) => ({
      observations: turn + 1 === turns ? {} : observe(`turn ${turn + 1}`),
      agents: { agent: agentStep(1, turn + 1 === turns) },
    }),
  });
}

/** Tasks 0, 1, ... */
export function numbers(count: number): Taskset<number> {
  return memoryTaskset(
    "numbers",
    Array.from({ length: count }, (_, index) => index),
  );
}

/** One task. */
export function oneTask(): Promise<TaskEntry<number>> {
  return numbers(1).get(0);
}

/** A promise that never settles, like a call that ignores its signal. */
export function forever(): Promise<never> {
  return new Promise(() => {});
}
