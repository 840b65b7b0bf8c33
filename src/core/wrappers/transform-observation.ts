import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, Observation, Observations } from "../../contract/environment.ts";
import { type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/** The agent, the task and the turn of an observation. */
export interface ObservationContext<Task> {
  readonly agent: AgentId;
  readonly task: Task;
  /** The number of steps of the episode so far. */
  readonly turn: number;
}

/**
 * Replaces each observation by the result of `transform`. It must be deterministic and must not change its argument.
 */
export function transformObservation<Task>(
  environment: EnvironmentDefinition<Task>,
  transform: (observation: Observation, place: ObservationContext<Task>) => Observation,
): EnvironmentDefinition<Task> {
  const episode = (task: Task, begun: number): WrappedEpisode => {
    let turn = begun;
    const show = (observations: Observations): Observations =>
      Object.fromEntries(
        Object.entries(observations).map(([agent, seen]) => [agent, transform(seen, { agent, task, turn })]),
      );
    return {
      begin: show,
      step: async (actions, inner) => {
        const result = await inner(actions);
        turn += 1;
        return { ...result, observations: show(result.observations) };
      },
      copy: () => episode(task, turn),
    };
  };
  return wrapEnvironment(environment, { start: ({ task }) => episode(task, 0) });
}
