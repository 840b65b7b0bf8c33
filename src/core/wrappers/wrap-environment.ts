import type { Action, AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, EnvironmentSpec, Observations, StepResult } from "../../contract/environment.ts";
import { WrappedEnvironment } from "./wrapped-environment.ts";

/** The actions of one step, by agent. */
export type Actions = Readonly<Record<AgentId, Action>>;

/** What a wrapper makes of one episode. */
export interface WrappedEpisode {
  /** The first observations as they are shown. */
  begin(observations: Observations): Observations | Promise<Observations>;
  /** One step; `inner` takes that of the environment inside. Without observations the episode is over. */
  step(actions: Actions, inner: (actions: Actions) => Promise<StepResult>): Promise<StepResult>;
  /** The same for a fork of the instance. */
  copy(): WrappedEpisode;
  /** Called where the episode is left before its end, by a reset or a close. */
  leave?(): Promise<void>;
}

/** What an episode is of. */
export interface EpisodeStart<Task> {
  readonly task: Task;
  readonly seed: number;
}

/** A definition around another: what `wrapper` does not say is passed through. */
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
    tasks: (split, options) => environment.tasks(split, options),
    create: async () => new WrappedEnvironment({ inner: await environment.create(), spec, start }),
    ...(demonstrate === undefined ? {} : { demonstrate }),
    ...(scoreGroup === undefined ? {} : { scoreGroup }),
    ...(environment.partOf === undefined ? {} : { partOf: environment.partOf.bind(environment) }),
  };
}
