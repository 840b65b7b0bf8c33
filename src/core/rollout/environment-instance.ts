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

/** The environment pool, the time limit and the task of an episode. */
export interface InstanceOptions<Task> {
  readonly pool: EnvironmentPool<Task>;
  /** The maximum duration of one call, in milliseconds. */
  readonly limitMs: number;
  /** The id of the task. */
  readonly task: string;
}

/**
 * An environment instance during an episode. Each call has a time limit. An instance that threw or whose call was
 * interrupted is never used again.
 */
export class EnvironmentInstance<Task> {
  readonly #options: InstanceOptions<Task>;
  readonly #environment: Environment<Task>;
  readonly #isFork: boolean;
  #usable = true;
  /** The number of steps since the reset. */
  #turn = 0;

  private constructor(options: InstanceOptions<Task>, environment: Environment<Task>, isFork: boolean) {
    this.#options = options;
    this.#environment = environment;
    this.#isFork = isFork;
  }

  /** Acquires an instance of the pool. If the wait was interrupted, a later instance is released to the pool. */
  static async acquire<Task>(
    options: InstanceOptions<Task>,
    run: InterruptibleRun,
  ): Promise<EnvironmentInstance<Task>> {
    const { pool } = options;
    let acquiring: Promise<Environment<Task>> | undefined;
    try {
      const environment = await EnvironmentInstance.#timed(options, run, {
        name: "create",
        start: () => {
          acquiring = pool.acquire();
          return acquiring;
        },
      });
      return new EnvironmentInstance(options, environment, false);
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

  /** Returns a second instance in the same state. If the wait was interrupted, a later fork is closed. */
  async fork(run: InterruptibleRun): Promise<EnvironmentInstance<Task>> {
    let forking: Promise<Environment<Task>> | undefined;
    try {
      const environment = await this.#call(run, "fork", () => {
        forking = this.#environment.fork!();
        return forking;
      });
      const copy = new EnvironmentInstance(this.#options, environment, true);
      copy.#turn = this.#turn;
      return copy;
    } catch (error) {
      forking?.then(
        (environment) => this.#options.pool.discard(environment),
        () => {},
      );
      throw error;
    }
  }

  /**
   * Releases the instance to the pool. Closes it instead if it is not usable, `atFault`, or a fork, which the pool did
   * not create.
   */
  release(options: { readonly atFault: boolean }): void {
    const { pool } = this.#options;
    if (!this.#usable || this.#isFork || options.atFault) pool.discard(this.#environment);
    else pool.release(this.#environment);
  }

  #call<T>(run: InterruptibleRun, name: Call, start: () => Promise<T>): Promise<T> {
    return EnvironmentInstance.#timed(this.#options, run, { name, start, instance: this });
  }

  /** Calls the environment and waits for it, within the time limit. */
  static async #timed<T>(
    { pool, limitMs, task }: InstanceOptions<never>,
    run: InterruptibleRun,
    call: {
      readonly name: Call;
      readonly start: () => Promise<T>;
      /** The instance of the call. It becomes unusable if the call does not succeed. */
      readonly instance?: EnvironmentInstance<never>;
    },
  ): Promise<T> {
    const { name, start, instance } = call;
    const environment = pool.factory.spec.id;
    run.startClock(limitMs, () => run.interrupt(failed(callTimeout(environment, name, limitMs))));
    if (instance !== undefined) instance.#usable = false;
    try {
      const turn = name === "step" && instance !== undefined ? { turn: instance.#turn } : {};
      const started = startCall({ subject: `environment "${environment}"`, call: name, task, ...turn, limitMs }, start);
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
