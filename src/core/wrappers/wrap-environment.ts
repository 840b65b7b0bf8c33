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

/**
 * Wraps a definition. Everything that `wrapper` does not define is passed through, except `taskFolder`: a folder has the
 * rewards of the inner environment. `spec` changes the spec. A function also changes the specs of a mixture's
 * environments.
 */
export function wrapEnvironment<Task>(
  environment: EnvironmentDefinition<Task>,
  wrapper: {
    readonly spec?: Partial<EnvironmentSpec> | SpecChange;
    readonly start: (start: EpisodeStart<Task>) => WrappedEpisode;
    readonly demonstrate?: EnvironmentDefinition<Task>["demonstrate"];
    readonly scoreGroup?: EnvironmentDefinition<Task>["scoreGroup"];
  },
): EnvironmentDefinition<Task> {
  const { start, spec: changes = {} } = wrapper;
  const change = typeof changes === "function" ? changes : () => ({});
  const passed = passedThrough(environment, change);
  const spec = typeof changes === "function" ? passed.spec : { ...passed.spec, ...changes };
  return {
    ...passed,
    spec,
    create: async (options) =>
      new WrappedEnvironment({ inner: await createInstance(environment, options), spec, start }),
    demonstrate: wrapper.demonstrate ?? environment.demonstrate?.bind(environment),
    scoreGroup: wrapper.scoreGroup ?? environment.scoreGroup?.bind(environment),
    ...(environment.demonstratesPairs === true ? { demonstratesPairs: true } : {}),
  };
}

/** What a wrapper changes in the spec of an environment, or of one of a mixture. */
export type SpecChange = (spec: EnvironmentSpec) => Partial<EnvironmentSpec>;

/** Returns what no wrapper of a definition may lose. `change` is made to every spec in it. */
export function passedThrough<Task>(
  environment: EnvironmentDefinition<Task>,
  change: SpecChange,
): Omit<EnvironmentDefinition<Task>, "create"> {
  const { specificationVersion, spec, splits, judge } = environment;
  return {
    specificationVersion,
    spec: changedSpec(spec, change),
    splits,
    tasks: (split, options) => splitTasks(environment, split, options),
    judge,
    groupOf: environment.groupOf?.bind(environment),
    environmentOf:
      environment.environmentOf &&
      ((taskId) => {
        const found = environment.environmentOf!(taskId);
        return found && { ...found, spec: changedSpec(found.spec, change) };
      }),
  };
}

function changedSpec(spec: EnvironmentSpec, change: SpecChange): EnvironmentSpec {
  const { environments } = spec;
  if (environments === undefined) return { ...spec, ...change(spec) };
  const parts = Object.entries(environments).map(([name, part]) => [name, changedSpec(part, change)]);
  return { ...spec, ...change(spec), environments: Object.fromEntries(parts) };
}
