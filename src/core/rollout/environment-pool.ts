import type { Environment, EnvironmentFactory } from "../../contract/environment.ts";
import { type ErrorData, LyceumError } from "../../contract/errors/index.ts";
import { contractError, environmentFailure } from "../environment/environment-error.ts";
import { startTimer } from "./rollout-limits.ts";

/** How long an instance may take to close before it is left behind. */
const closeMs = 30_000;

/**
 * Instances of one environment, reused from episode to episode by `reset`. A rollout makes a pool of its own unless it
 * is given one; keep one over several rollouts where instances are costly to make. Close it in the end
 * (`await using`).
 */
export class EnvironmentPool<Task = unknown> implements AsyncDisposable {
  readonly factory: EnvironmentFactory<Task>;
  readonly #onCloseError: (error: ErrorData) => void;
  /** All instances that are not closed or closing. */
  readonly #live = new Set<Environment<Task>>();
  readonly #idle: Environment<Task>[] = [];
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  /** `onCloseError` hears of instances that threw at `close` or did not end in 30 s; without it they are dropped. */
  constructor(factory: EnvironmentFactory<Task>, options: { readonly onCloseError?: (error: ErrorData) => void } = {}) {
    this.factory = factory;
    this.#onCloseError = options.onCloseError ?? (() => {});
  }

  /** An idle instance, or a new one. Hand it back by `release` or `discard`. */
  async acquire(): Promise<Environment<Task>> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const created = await this.factory.create();
    if (this.#live.has(created)) {
      throw contractError({
        environment: this.factory.spec.id,
        problem: "gave an instance out twice",
        rule: "create makes a new instance each time: an instance plays one episode at a time.",
      });
    }
    this.#live.add(created);
    return created;
  }

  /** Takes back an instance that no call is running on. */
  release(environment: Environment<Task>): void {
    if (this.#closed) this.discard(environment);
    else this.#idle.push(environment);
  }

  /** Closes an instance that failed or was abandoned in a call; it is never used again. */
  discard(environment: Environment<Task>): void {
    this.#live.delete(environment);
    const closing = this.#closeInstance(environment).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Closes the idle instances and waits for those that are closing already. Calling it twice is harmless. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const environment of this.#idle.splice(0)) this.discard(environment);
    await Promise.all(this.#closing);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeInstance(environment: Environment<Task>): Promise<void> {
    const id = this.factory.spec.id;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = startTimer(closeMs, () => reject(closeTimeout(id)));
        Promise.resolve(environment.close()).then(resolve, reject);
      });
    } catch (error) {
      this.#onCloseError(environmentFailure({ environment: id, call: "close", error }).toData());
    } finally {
      clearTimeout(timer);
    }
  }
}

function closeTimeout(environment: string): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `An instance of environment "${environment}" did not close in ${closeMs / 1000} s and was left behind.`,
    hint: "Its close waits for something that does not end.",
  });
}
