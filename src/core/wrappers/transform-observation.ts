import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, Observation, Observations } from "../../contract/environment.ts";
import { type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/** Where an observation stands. */
export interface ObservationPlace<Task> {
  readonly agent: AgentId;
  readonly task: Task;
  /** How many steps the episode has had. */
  readonly turn: number;
}

/** Shows what `transform` makes of each observation. It must give the same for the same, and change nothing in place. */
export function transformObservation<Task>(
  environment: EnvironmentDefinition<Task>,
  transform: (observation: Observation, place: ObservationPlace<Task>) => Observation,
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
