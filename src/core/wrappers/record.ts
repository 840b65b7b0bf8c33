import { appendFile } from "node:fs/promises";
import type { EnvironmentDefinition, Observations, StepResult } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { type Actions, type EpisodeStart, type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/** The observations, actions and results of one episode. */
export interface RecordedEpisode<Task = unknown> {
  readonly environment: string;
  readonly task: Task;
  readonly seed: number;
  /** The first observations. */
  readonly observations: Observations;
  readonly steps: readonly { readonly actions: Actions; readonly result: StepResult }[];
  /** False if the episode was left before its end. */
  readonly ended: boolean;
}

/** Receives each recorded episode: a function, or the path of a file to which a line of JSON is appended. */
export type EpisodeSink<Task = unknown> = string | ((episode: RecordedEpisode<Task>) => void | Promise<void>);

/**
 * Passes each episode to `sink` when it ends or is left (by `reset` or `close`). The record contains what this
 * environment sent and received, so it does not contain changes by outer wrappers. If the function throws, the episode
 * fails. If the file cannot be written, it fails with `trace.write-failed`.
 */
export function record<Task>(
  environment: EnvironmentDefinition<Task>,
  sink: EpisodeSink<Task>,
): EnvironmentDefinition<Task> {
  const write = typeof sink === "function" ? sink : (episode: RecordedEpisode<Task>) => appendLine(sink, episode);
  const recording = (
    start: EpisodeStart<Task>,
    begun: { first: Observations; steps: RecordedEpisode["steps"] },
  ): WrappedEpisode => {
    let { first, steps } = begun;
    const finish = async (ended: boolean): Promise<void> => {
      await write({
        environment: environment.spec.id,
        task: start.task,
        seed: start.seed,
        observations: first,
        steps,
        ended,
      });
    };
    return {
      begin: async (observations) => {
        first = observations;
        if (Object.keys(observations).length === 0) await finish(true);
        return observations;
      },
      step: async (actions, inner) => {
        const result = await inner(actions);
        steps = [...steps, { actions, result }];
        if (Object.keys(result.observations).length === 0) await finish(true);
        return result;
      },
      copy: () => recording(start, { first, steps }),
      leave: () => finish(false),
    };
  };
  return wrapEnvironment(environment, { start: (start) => recording(start, { first: {}, steps: [] }) });
}

async function appendLine(path: string, episode: RecordedEpisode): Promise<void> {
  try {
    await appendFile(path, `${JSON.stringify(episode)}\n`);
  } catch (error) {
    throw new LyceumError({
      code: "trace.write-failed",
      message: `The episode could not be recorded in ${path}: ${(error as Error).message}`,
      hint: "Choose a file in a folder that exists and can be written to.",
      data: { path },
      cause: error,
    });
  }
}
