import type { Action, AgentId } from "../../contract/action.ts";
import type { Environment, Observations, StepResult } from "../../contract/environment.ts";
import { environmentFailure } from "../environment/environment-error.ts";
import type { EnvironmentPool } from "./environment-pool.ts";
import type { InterruptibleRun } from "./interruptible-run.ts";
import { failed } from "./outcome.ts";
import { callTimeout } from "./rollout-error.ts";
import { startCall } from "./running-call.ts";

/** The actions of one step, by agent. */
export type Actions = Readonly<Record<AgentId, Action>>;

/** What an episode is played on. */
export interface Playground<Task> {
  readonly pool: EnvironmentPool<Task>;
  /** The time of one call. */
  readonly limitMs: number;
  /** The id of the task that is played. */
  readonly task: string;
}

/**
 * An instance of an environment while an episode is played on it, each call within the time limit. One that is left
 * in the middle of a call, or that threw, is never used again.
 */
export class EnvironmentInstance<Task> {
  readonly #playground: Playground<Task>;
  readonly #environment: Environment<Task>;
  readonly #isFork: boolean;
  #usable = true;
  /** The steps taken since the reset. */
  #turn = 0;

  private constructor(playground: Playground<Task>, environment: Environment<Task>, isFork: boolean) {
    this.#playground = playground;
    this.#environment = environment;
    this.#isFork = isFork;
  }

  /** One of the pool. An instance that comes after the wait for it has ended goes back. */
  static async acquire<Task>(playground: Playground<Task>, run: InterruptibleRun): Promise<EnvironmentInstance<Task>> {
    const { pool } = playground;
    let acquiring: Promise<Environment<Task>> | undefined;
    try {
      const environment = await EnvironmentInstance.#timed(playground, run, {
        name: "create",
        start: () => {
          acquiring = pool.acquire();
          return acquiring;
        },
      });
      return new EnvironmentInstance(playground, environment, false);
    } catch (error) {
      acquiring?.then(
        (environment) => pool.release(environment),
        () => {},
      );
      throw error;
    }
  }

  get canFork(): boolean {
    return this.#environment.fork !== undefined;
  }

  reset(run: InterruptibleRun, options: { readonly task: Task; readonly seed: number }): Promise<Observations> {
    return this.#call(run, "reset", () => this.#environment.reset({ ...options, signal: run.signal }));
  }

  async step(run: InterruptibleRun, actions: Actions): Promise<StepResult> {
    const result = await this.#call(run, "step", () => this.#environment.step(actions, { signal: run.signal }));
    this.#turn += 1;
    return result;
  }

  /** A second instance in the same state. A fork that comes after the wait for it has ended is closed. */
  async fork(run: InterruptibleRun): Promise<EnvironmentInstance<Task>> {
    let forking: Promise<Environment<Task>> | undefined;
    try {
      const environment = await this.#call(run, "fork", () => {
        forking = this.#environment.fork!();
        return forking;
      });
      const copy = new EnvironmentInstance(this.#playground, environment, true);
      copy.#turn = this.#turn;
      return copy;
    } catch (error) {
      forking?.then(
        (environment) => this.#playground.pool.discard(environment),
        () => {},
      );
      throw error;
    }
  }

  /** Gives it back to the pool; one `atFault` is closed instead, and so is a fork, which the pool never asked for. */
  handBack(options: { readonly atFault: boolean }): void {
    const { pool } = this.#playground;
    if (!this.#usable || this.#isFork || options.atFault) pool.discard(this.#environment);
    else pool.release(this.#environment);
  }

  #call<T>(run: InterruptibleRun, name: Call, start: () => Promise<T>): Promise<T> {
    return EnvironmentInstance.#timed(this.#playground, run, { name, start, instance: this });
  }

  /** Calls the environment and waits for it, within the time limit. */
  static async #timed<T>(
    { pool, limitMs, task }: Playground<never>,
    run: InterruptibleRun,
    call: {
      readonly name: Call;
      readonly start: () => Promise<T>;
      /** Not to be used again unless the call ends well. */
      readonly instance?: EnvironmentInstance<never>;
    },
  ): Promise<T> {
    const { name, start, instance } = call;
    const environment = pool.factory.spec.id;
    run.startClock(limitMs, () => run.interrupt(failed(callTimeout(environment, name, limitMs))));
    if (instance !== undefined) instance.#usable = false;
    try {
      const turn = name === "step" && instance !== undefined ? { turn: instance.#turn } : {};
      const started = startCall({ environment, call: name, task, ...turn, limitMs }, start);
      const result = await run.wait(Promise.resolve(started));
      if (instance !== undefined) instance.#usable = true;
      return result;
    } catch (error) {
      throw run.interruption ?? environmentFailure({ environment, call: name, error });
    } finally {
      run.stopClock();
    }
  }
}

type Call = "create" | "reset" | "step" | "fork";
