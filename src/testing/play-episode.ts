import type { Action, AgentId } from "../contract/action.ts";
import type { Environment, Observations, StepResult } from "../contract/environment.ts";
import type { Taskset } from "../contract/taskset.ts";
import { createInstance, splitTasks } from "../core/environment/checked-environment.ts";
import { environmentFailure } from "../core/environment/environment-error.ts";
import { boundedWait } from "../core/rollout/bounded-wait.ts";
import { startCall } from "../core/rollout/running-call.ts";
import { plannedActions } from "./action-plan.ts";
import type { DefinitionCase, EpisodeCase } from "./rule.ts";

/** One played step. */
export interface PlayedStep {
  /** The actions of the plan, and the copies that the environment received. */
  readonly planned: Readonly<Record<AgentId, Action>>;
  readonly handed: Readonly<Record<AgentId, Action>>;
  readonly result: StepResult;
  /** The result as JSON, at the time when it was returned. */
  readonly recorded: string;
}

/** A played episode on one instance. */
export interface PlayedEpisode {
  /** The copy of the task that the environment received. */
  readonly task: unknown;
  readonly first: Observations;
  /** The first observations as JSON, at the time when they were returned. */
  readonly recorded: string;
  readonly steps: readonly PlayedStep[];
  /** False if it was stopped after `maxTurns` steps or earlier. */
  readonly ended: boolean;
}

/** A call of an instance that exceeded its timeout. */
export class CallTimeout extends Error {}

/** Plays at most `turns` steps of an episode by its plan. Rejects with the errors of the environment. */
export async function playEpisode(
  instance: Environment,
  given: EpisodeCase,
  turns: number = given.environment.spec.maxTurns,
): Promise<PlayedEpisode> {
  const task = structuredClone(given.task.task);
  const { seed } = given;
  const first = await bounded("reset", given, (signal) => instance.reset({ task, seed, ...signal }));
  return playOn(instance, given, { task, first, recorded: asText(first), steps: [], ended: false }, turns);
}

/** Continues an episode until it has `turns` steps. */
export async function playOn(
  instance: Environment,
  given: EpisodeCase,
  begun: PlayedEpisode,
  turns: number = given.environment.spec.maxTurns,
): Promise<PlayedEpisode> {
  const steps = [...begun.steps];
  let acted = steps.reduce((count, { planned }) => count + Object.keys(planned).length, 0);
  let observations = steps.at(-1)?.result.observations ?? begun.first;
  while (Object.keys(observations).length > 0 && steps.length < turns) {
    const planned = plannedActions(given.plan, observations, acted);
    const handed = structuredClone(planned);
    const result = await bounded("step", given, (signal) => instance.step(handed, signal));
    steps.push({ planned, handed, result, recorded: asText(result) });
    acted += Object.keys(planned).length;
    observations = result.observations;
  }
  return { ...begun, steps, ended: Object.keys(observations).length === 0 };
}

/** Returns everything that an episode sent to its agents, for comparisons. */
export function transcript({ recorded, steps }: PlayedEpisode): string {
  return [recorded, ...steps.map((step) => step.recorded)].join("\n");
}

/** Loads the tasks of a split. Rejects with a {@link CallTimeout} if this takes too long. */
export function loadBounded(given: DefinitionCase, split: string): Promise<Taskset> {
  return bounded("loading tasks", given, (options) => splitTasks(given.environment, split, options));
}

/** Creates an instance, uses it and closes it. */
export async function withInstance<T>(given: DefinitionCase, use: (instance: Environment) => Promise<T>): Promise<T> {
  const instance = await bounded("create", given, () => createInstance(given.environment));
  try {
    return await use(instance);
  } finally {
    await bounded("close", given, () => instance.close());
  }
}

/** Keeps an instance that is never played, so that a shared resource, such as a sandbox, starts only once. */
export async function keepInstance(given: DefinitionCase): Promise<AsyncDisposable> {
  // If it cannot be created or closed, the played instances report that.
  const instance = await bounded("create", given, () => given.environment.create()).catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      if (instance !== undefined) await bounded("close", given, () => instance.close()).catch(() => {});
    },
  };
}

/** Waits for a call up to its timeout, even if the environment ignores signals. */
export function bounded<T>(
  name: string,
  { environment, callMs, signal }: DefinitionCase,
  call: (options: { readonly signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  const timeout = () => new CallTimeout(`did not end ${name} in ${callMs / 1000} s`);
  const running = { subject: `environment "${environment.spec.id}"`, call: name, limitMs: callMs };
  const called = startCall(running, async () => call({ signal })).catch((error: unknown) => {
    throw environmentFailure({ environment: environment.spec.id, call: name, error });
  });
  return boundedWait(called, { signal, ms: callMs, timeout });
}

/** Returns a value as JSON, or why it is not JSON. */
export function asText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "undefined";
  } catch (error) {
    return String(error);
  }
}
