import type { Action, AgentId, Environment, Observations, StepResult } from "../environment/environment.ts";
import type { LawCase } from "./law.ts";
import { randomActions } from "./random-action.ts";

/** An episode as it went by, on one instance. */
export interface PlayedEpisode {
  readonly first: Observations;
  readonly steps: readonly { readonly actions: Record<AgentId, Action>; readonly result: StepResult }[];
  /** False where it went on after `maxTurns` steps. */
  readonly ended: boolean;
}

/** Plays an episode of random actions. Rejects with what the environment throws. */
export async function playThrough(
  instance: Environment,
  { task, seed, environment: { spec }, signal }: LawCase,
): Promise<PlayedEpisode> {
  const options = signal === undefined ? {} : { signal };
  const first = await instance.reset({ task: task.task, seed, ...options });
  const steps: PlayedEpisode["steps"][number][] = [];
  let observations = first;
  while (Object.keys(observations).length > 0) {
    if (steps.length >= spec.maxTurns) return { first, steps, ended: false };
    const actions = randomActions(observations, { spec, seed, turn: steps.length });
    const result = await instance.step(actions, options);
    steps.push({ actions, result });
    observations = result.observations;
  }
  return { first, steps, ended: true };
}

/** Uses an instance and closes it. */
export async function withInstance<T>(given: LawCase, use: (instance: Environment) => Promise<T>): Promise<T> {
  const instance = await given.environment.create();
  try {
    return await use(instance);
  } finally {
    await instance.close();
  }
}

/** What is wrong with the first step or observation for which `problem` has words. */
export async function inEpisode(
  given: LawCase,
  problem: (played: PlayedEpisode) => string | undefined,
): Promise<string | undefined> {
  return problem(await withInstance(given, (instance) => playThrough(instance, given)));
}
