import type { AgentId } from "../../contract/action.ts";
import type { LyceumError } from "../../contract/errors/index.ts";
import type { Reward } from "../../contract/reward.ts";
import type { AgentRecorder } from "./agent-recorder.ts";
import { canaryOf } from "./canary.ts";
import { EnvironmentInstance, type InstanceOptions } from "./environment-instance.ts";
import type { EpisodeRecorder } from "./episode-recorder.ts";
import { asTaskFailure, findFailureCause } from "./failure-cause.ts";
import type { InterruptibleRun } from "./interruptible-run.ts";
import { failed } from "./outcome.ts";
import type { EpisodePosition } from "./run-settings.ts";

/**
 * Finds the cause of a failed step, and blames the acting agents if their answers caused it. Returns the error of the
 * episode, and the rewards of the blamed agents.
 */
export async function blameStep<Task>(options: {
  readonly error: LyceumError;
  readonly trajectory: EpisodeRecorder;
  readonly acting: readonly AgentRecorder[];
  /** The number of steps with the failed one. */
  readonly turns: number;
  readonly position: EpisodePosition<Task>;
  readonly instanceOptions: InstanceOptions<Task>;
  readonly run: InterruptibleRun;
  /** Plays the actions of the episode again, with those of the failed step. */
  readonly replay: (instance: EnvironmentInstance<Task>) => Promise<void>;
}): Promise<{ readonly error: LyceumError; readonly rewards?: Readonly<Record<AgentId, Reward>> | undefined }> {
  const { error, trajectory, acting, turns, position, instanceOptions, run } = options;
  const acquire = (): Promise<EnvironmentInstance<Task>> => EnvironmentInstance.acquire(instanceOptions, run);
  const replay = async (): Promise<void> => {
    const instance = await acquire();
    try {
      await options.replay(instance);
    } finally {
      instance.release({ atFault: true });
    }
  };
  const canary = canaryOf({ instanceOptions, position, run, turns, acquire });
  const cause = await findFailureCause(error, { replay, canary });
  if (cause === "task") return { error: asTaskFailure(error) };
  if (cause === "outside") return { error };
  return { error, rewards: trajectory.blame(failed(error).error, { acting, task: position.entry.id, cause }) };
}
