import type { Action, AgentId } from "../../contract/action.ts";
import type {
  Demonstration,
  EnvironmentDefinition,
  EnvironmentFactory,
  Observations,
} from "../../contract/environment.ts";
import type { Message } from "../../contract/message.ts";
import { demonstratedAction } from "../policy/demonstration-policy.ts";
import type { EnvironmentInstance, InstanceOptions } from "./environment-instance.ts";
import { resetSeed } from "./episode-seeds.ts";
import type { Canary } from "./failure-cause.ts";
import type { InterruptibleRun } from "./interruptible-run.ts";
import type { EpisodePosition } from "./run-settings.ts";

/** Creates a canary from the demonstration of a task. Without one, it gives empty answers in `turns` turns. */
export function canaryOf<Task>(options: {
  readonly instanceOptions: InstanceOptions<Task>;
  readonly position: EpisodePosition<Task>;
  readonly run: InterruptibleRun;
  readonly turns: number;
  readonly acquire: () => Promise<EnvironmentInstance<Task>>;
}): Canary {
  const { instanceOptions, position, run, turns, acquire } = options;
  const { task } = position.entry;
  const seed = resetSeed(position);
  const demonstration = demonstrationOf(instanceOptions.pool.factory, {
    task,
    seed,
    sampleIndex: position.sampleIndex,
  });
  const answerOf = (turn: number, agent: AgentId): string | Message | undefined =>
    demonstration === undefined ? "" : demonstration[turn]?.[agent];
  return {
    isDemonstration: demonstration !== undefined,
    play: async () => {
      const instance = await acquire();
      try {
        let observations = await instance.reset(run, { task, seed });
        for (let turn = 0; turn < (demonstration?.length ?? turns); turn++) {
          const actions = actionsOf(observations, (agent) => answerOf(turn, agent));
          if (actions === undefined) return;
          ({ observations } = await instance.step(run, actions));
        }
      } finally {
        instance.release({ atFault: true });
      }
    },
  };
}

/** Returns the environment's demonstration of a task, if there is one. */
function demonstrationOf<Task>(
  factory: EnvironmentFactory<Task> & Partial<Pick<EnvironmentDefinition<Task>, "demonstrate">>,
  { task, ...position }: { readonly task: Task; readonly seed: number; readonly sampleIndex: number },
): Demonstration | undefined {
  try {
    return factory.demonstrate?.(task, position);
  } catch {
    return undefined;
  }
}

/**
 * Returns an action for each observed agent. Returns undefined at the end of the episode, or if an answer is missing.
 */
function actionsOf(
  observations: Observations,
  answerOf: (agent: AgentId) => string | Message | undefined,
): Readonly<Record<AgentId, Action>> | undefined {
  const actions: Record<AgentId, Action> = {};
  for (const agent of Object.keys(observations)) {
    const answer = answerOf(agent);
    if (answer === undefined) return undefined;
    actions[agent] = demonstratedAction(answer);
  }
  return Object.keys(actions).length === 0 ? undefined : actions;
}
