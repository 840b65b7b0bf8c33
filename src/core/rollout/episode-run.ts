import type { Action, AgentId } from "../../contract/action.ts";
import type { StepResult } from "../../contract/environment.ts";
import type { Episode } from "../../contract/episode.ts";
import { type ErrorData, fromErrorData, LyceumError } from "../../contract/errors/index.ts";
import type { ActResult } from "../../contract/policy.ts";
import { sum } from "../statistics.ts";
import { type AgentRecorder, actionError } from "./agent-recorder.ts";
import { askPolicy } from "./ask-policy.ts";
import { blameStep } from "./blame-step.ts";
import { type Actions, EnvironmentInstance, type InstanceOptions } from "./environment-instance.ts";
import { EpisodeRecorder } from "./episode-recorder.ts";
import { resetSeed } from "./episode-seeds.ts";
import { InterruptibleRun } from "./interruptible-run.ts";
import { failed, type Outcome } from "./outcome.ts";
import { actTimeout, policyFailure } from "./rollout-error.ts";
import { startTimer } from "./rollout-limits.ts";
import type { EpisodePosition, RunSettings } from "./run-settings.ts";
import { TurnRequests } from "./turn-requests.ts";

/** One run of one task: a reset, then actions and steps until the environment or a limit ends it. */
export class EpisodeRun<Task> {
  readonly #settings: RunSettings<Task>;
  readonly #position: EpisodePosition<Task>;
  readonly #trajectory: EpisodeRecorder;
  readonly #run = new InterruptibleRun();
  #instance: EnvironmentInstance<Task> | undefined;
  /** The actions of the steps so far. */
  readonly #history: Actions[] = [];

  constructor(settings: RunSettings<Task>, position: EpisodePosition<Task>) {
    this.#settings = settings;
    this.#position = position;
    this.#trajectory = EpisodeRecorder.begin(settings.pool.factory, settings.policies);
  }

  /** Plays the episode. Never rejects: errors are recorded in the episode. */
  async play(): Promise<Episode> {
    const started = performance.now();
    const timer = startTimer(this.#settings.limits.episodeMs, () =>
      this.#run.interrupt({ status: "truncated", limit: "time" }),
    );
    let outcome: Outcome;
    try {
      outcome = await this.#play();
    } catch (error) {
      outcome = this.#run.interruption ?? failed(error);
    }
    clearTimeout(timer);
    this.#run.stopClock();
    this.#instance?.release({ atFault: isEnvironmentFault(outcome) });
    const { entry, sampleIndex, seed } = this.#position;
    return this.#trajectory.episode({ entry, sampleIndex, seed, outcome, durationMs: performance.now() - started });
  }

  /** Ends the episode now. */
  abort(): void {
    this.#run.interrupt({ status: "aborted" });
  }

  get #instanceOptions(): InstanceOptions<Task> {
    const { pool, limits } = this.#settings;
    return { pool, limitMs: limits.environmentMs, task: this.#position.entry.id };
  }

  async #play(): Promise<Outcome> {
    const { limits, slice, terminationThreshold = Infinity, partners = [] } = this.#settings;
    const { task } = this.#position.entry;
    const instance = await EnvironmentInstance.acquire(this.#instanceOptions, this.#run);
    this.#instance = instance;
    await slice.pause();
    let observations = await instance.reset(this.#run, { task, seed: resetSeed(this.#position) });
    for (;;) {
      const acting = this.#trajectory.observe(observations, limits);
      if ("status" in acting) return acting;
      const actions = await this.#act(acting);
      if (actions === "context-full") return { status: "truncated", limit: "tokens" };
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      const result = await this.#step(instance, { actions, acting });
      this.#trajectory.step(result, acting);
      observations = result.observations;
      const mean = meanReward(result, partners);
      if (mean !== undefined && mean > terminationThreshold && Object.keys(observations).length > 0) {
        return this.#trajectory.endEarly();
      }
    }
  }

  async #step(
    instance: EnvironmentInstance<Task>,
    { actions, acting }: { readonly actions: Actions; readonly acting: readonly AgentRecorder[] },
  ): Promise<StepResult> {
    this.#history.push(actions);
    try {
      return await instance.step(this.#run, actions);
    } catch (error) {
      if (this.#run.interruption !== undefined || !LyceumError.isInstance(error)) throw error;
      const { task } = this.#position.entry;
      const blamed = await blameStep({
        error,
        acting,
        trajectory: this.#trajectory,
        turns: this.#history.length,
        position: this.#position,
        instanceOptions: this.#instanceOptions,
        run: this.#run,
        replay: async (other) => {
          await other.reset(this.#run, { task, seed: resetSeed(this.#position) });
          for (const step of this.#history) await other.step(this.#run, step);
        },
      });
      throw blamed.error;
    }
  }

  /** Requests the actions of these agents at once. For a batching policy, the timeout starts with its batch. */
  async #act(acting: readonly AgentRecorder[]): Promise<Actions | "context-full"> {
    const settings = this.#settings;
    const { barrier, limits } = settings;
    const run = this.#run;
    const position = this.#position;
    const { turns: turn } = this.#trajectory;
    const { signal } = run;
    const startClock = (): void =>
      run.startClock(limits.actMs, () => run.interrupt(failed(actTimeout(acting, limits.actMs))));
    const requests =
      barrier === undefined
        ? undefined
        : new TurnRequests({
            barrier,
            onHeld: () => run.stopClock(),
            onFlush: startClock,
            onError: (error, policy) => run.interrupt(failed(policyFailure(policy, "flush", error))),
          });
    try {
      const answers = acting.map((recorder) => askPolicy({ settings, position, recorder, turn, signal, requests }));
      startClock();
      requests?.start();
      const results = answers.length === 1 ? [await run.wait(answers[0]!)] : await run.wait(Promise.all(answers));
      return this.#record(acting, results);
    } catch (error) {
      // Aborts the pending requests of the other agents.
      run.dismiss();
      if (isContextFull(error, acting)) return "context-full";
      throw error;
    } finally {
      run.stopClock();
      requests?.end();
    }
  }

  #record(acting: readonly AgentRecorder[], results: readonly ActResult[]): Actions {
    const actions: Record<AgentId, Action> = {};
    const { sampling } = this.#settings;
    for (const [index, recorder] of acting.entries()) {
      recorder.act(results[index]!, { turn: this.#trajectory.turns, sampling });
      actions[recorder.agent] = results[index]!.action;
    }
    const failures = new Map<AgentId, ErrorData>();
    for (const [index, recorder] of acting.entries()) {
      const { failure } = results[index]!;
      const error = actionError(results[index]!, recorder);
      if (error !== undefined) throw error;
      if (failure !== undefined) failures.set(recorder.agent, failure);
    }
    const [first] = failures.values();
    if (first === undefined) return actions;
    this.#trajectory.blamePrograms(failures, { task: this.#position.entry.id });
    throw fromErrorData(first);
  }
}

/** The mean reward of a step over agents. Undefined if the step has no rewards or one of them is unscored. */
function meanReward({ agents }: StepResult, partners: readonly AgentId[]): number | undefined {
  const rewards = Object.entries(agents).flatMap(([agent, { reward }]) =>
    partners.includes(agent) ? [] : (reward ?? []),
  );
  const values = rewards.flatMap((reward) => (reward.status === "scored" ? [reward.value] : []));
  if (values.length === 0 || values.length < rewards.length) return undefined;
  return sum(values) / values.length;
}

/**
 * True if a conversation has outgrown the model's context. A conversation that was too long before the first action is
 * a failure instead.
 */
export function isContextFull(error: unknown, acting: readonly AgentRecorder[]): boolean {
  return (
    LyceumError.isInstance(error) && error.code === "policy.prompt-too-long" && acting.some(({ hasActed }) => hasActed)
  );
}

/** True if the environment instance may be the cause of the outcome. */
export function isEnvironmentFault(outcome: Outcome): boolean {
  return outcome.status === "failed" && outcome.error.code.startsWith("environment.");
}
