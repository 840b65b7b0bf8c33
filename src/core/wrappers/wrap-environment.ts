import type { Action, AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, EnvironmentSpec, Observations, StepResult } from "../../contract/environment.ts";
import { createInstance, splitTasks } from "../environment/checked-environment.ts";
import { WrappedEnvironment } from "./wrapped-environment.ts";

/** The actions of one step, by agent. */
export type Actions = Readonly<Record<AgentId, Action>>;

/** The behaviour of a wrapper in one episode. */
export interface WrappedEpisode {
  /** Returns the first observations for the agents. Without it, they are those of the inner environment. */
  begin?(observations: Observations): Observations | Promise<Observations>;
  /**
   * Takes one step. `inner` takes a step of the inner environment. The episode is over if there are no observations.
   */
  step(actions: Actions, inner: (actions: Actions) => Promise<StepResult>): Promise<StepResult>;
  /** Copies the state for a fork of the instance. */
  copy(): WrappedEpisode;
  /** Called if the episode is left before its end, by `reset` or `close`. */
  leave?(): Promise<void>;
}

/** The task and the seed of an episode. */
export interface EpisodeStart<Task> {
  readonly task: Task;
  readonly seed: number;
}

/** Wraps a definition. Everything that `wrapper` does not define is passed through. */
export function wrapEnvironment<Task>(
  environment: EnvironmentDefinition<Task>,
  wrapper: {
    readonly spec?: Partial<EnvironmentSpec>;
    readonly start: (start: EpisodeStart<Task>) => WrappedEpisode;
    readonly demonstrate?: EnvironmentDefinition<Task>["demonstrate"];
    readonly scoreGroup?: EnvironmentDefinition<Task>["scoreGroup"];
  },
): EnvironmentDefinition<Task> {
  const { start } = wrapper;
  const spec = { ...environment.spec, ...wrapper.spec };
  const demonstrate = wrapper.demonstrate ?? environment.demonstrate?.bind(environment);
  const scoreGroup = wrapper.scoreGroup ?? environment.scoreGroup?.bind(environment);
  return {
    specificationVersion: "v1",
    spec,
    splits: environment.splits,
    tasks: (split, options) => splitTasks(environment, split, options),
    judge: environment.judge,
    create: async (options) =>
      new WrappedEnvironment({ inner: await createInstance(environment, options), spec, start }),
    demonstrate,
    scoreGroup,
    ...(environment.demonstratesPairs === true ? { demonstratesPairs: true } : {}),
    groupOf: environment.groupOf?.bind(environment),
    environmentOf: environment.environmentOf?.bind(environment),
  };
}
