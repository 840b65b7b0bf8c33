import { randomUUID } from "node:crypto";
import type { Environment, EnvironmentDefinition, StepResult } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { EnvironmentSession, SessionReset, SessionState, SessionStep, SessionStepResult } from "./session.ts";

interface Episode {
  readonly id: string;
  agents: readonly string[];
  steps: number;
  /** True after a step that threw or was aborted. The state of the instance is unknown then. */
  broken?: boolean;
  last?: { readonly stepId: string; readonly result: SessionStepResult };
}

/**
 * Opens a session on a new instance of an environment in this thread. After a step that threw or was aborted, the
 * episode accepts no more steps, and the next reset replaces the instance.
 */
export async function definitionSession(definition: EnvironmentDefinition): Promise<EnvironmentSession> {
  let environment = await definition.create();
  let episode: Episode | undefined;
  let closed: Promise<void> | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** Runs calls one after another. A failed call does not stop the next one, and an aborted one does not begin. */
  const inOrder = <T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const checkOpen = (): void => {
      signal?.throwIfAborted();
      if (closed !== undefined) throw closedSessionError();
    };
    const result = queue.then(async () => {
      checkOpen();
      try {
        return await call();
      } catch (error) {
        checkOpen();
        throw error;
      }
    });
    queue = result.catch(() => {});
    return result;
  };

  const close = (): Promise<void> => {
    closed ??= environment.close();
    return closed;
  };
  return {
    reset: (options = {}) =>
      inOrder(async () => {
        if (episode?.broken === true) {
          await environment.close().catch(() => {});
          environment = await definition.create();
          if (closed !== undefined) await environment.close();
        }
        episode = undefined;
        const started = await startEpisode({ definition, environment, options });
        episode = { id: started.episodeId, agents: Object.keys(started.observations), steps: 0 };
        return started;
      }, options.signal),
    step: (options) =>
      inOrder(async () => {
        const running = checkedEpisode(episode, options);
        const { last } = running;
        if (last !== undefined && last.stepId === options.stepId) return last.result;
        const { actions, stepId, signal } = options;
        running.broken = true;
        const outcome = await environment.step(actions, { signal });
        running.broken = false;
        const result = withEnd(outcome);
        running.agents = Object.keys(outcome.observations);
        running.steps += 1;
        running.last = stepId === undefined ? undefined : { stepId, result };
        return result;
      }, options.signal),
    state: () => inOrder(async () => stateOf(environment, episode)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function startEpisode({
  definition,
  environment,
  options,
}: {
  readonly definition: EnvironmentDefinition;
  readonly environment: Environment;
  readonly options: SessionReset;
}) {
  const { seed = 0, episodeId = randomUUID(), split = definition.splits[0] ?? "train", signal } = options;
  const taskset = await definition.tasks(split, { signal });
  const index = options.index ?? (taskset.length === "unbounded" ? seed : seed % Math.max(taskset.length, 1));
  const { task, id: taskId } = await taskset.get(index, { signal });
  const observations = await environment.reset({ task, seed, signal });
  return { episodeId, seed, split, index, taskId, observations };
}

function checkedEpisode(episode: Episode | undefined, { actions, stepId }: SessionStep): Episode {
  if (episode === undefined) throw invalid("step was called before reset.", "Call reset first.");
  if (stepId !== undefined && episode.last?.stepId === stepId) return episode;
  if (episode.broken === true) {
    throw invalid(
      "The step before failed or was aborted, so the episode cannot continue.",
      "Call reset to start another one.",
    );
  }
  if (episode.agents.length === 0) throw invalid("The episode has ended.", "Call reset to start another one.");
  const acting = Object.keys(actions);
  const expected = episode.agents;
  if (acting.length !== expected.length || acting.some((agent) => !expected.includes(agent))) {
    throw invalid(
      `The actions are those of ${list(acting)}, but ${list(expected)} must act.`,
      "Send one action for each agent that has an observation.",
    );
  }
  return episode;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "no agent" : names.join(", ");
}

function withEnd(result: StepResult): SessionStepResult {
  return { ...result, done: Object.keys(result.observations).length === 0 };
}

function stateOf(environment: Environment, episode: Episode | undefined): SessionState {
  return {
    episodeId: episode?.id,
    stepCount: episode?.steps ?? 0,
    done: episode !== undefined && episode.agents.length === 0,
    state: environment.state?.(),
  };
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "server.invalid-request", message, hint });
}

/** The error of a call after the session was closed. */
export function closedSessionError(): LyceumError {
  return new LyceumError({
    code: "server.unknown-session",
    message: "The session is closed.",
    hint: "Open another session.",
  });
}
