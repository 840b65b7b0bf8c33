import type { Environment, EnvironmentFactory } from "../../contract/environment.ts";
import { type ErrorData, LyceumError } from "../../contract/errors/index.ts";
import { createInstance } from "../environment/checked-environment.ts";
import { contractError, environmentFailure } from "../environment/environment-error.ts";
import { startTimer } from "./rollout-limits.ts";

/** The maximum time that an instance may take to close, in milliseconds. */
const closeMs = 30_000;

/**
 * A pool of instances of one environment. `reset` makes an instance ready for the next episode. A rollout creates its
 * own pool if it does not receive one. Share a pool between rollouts if instances are expensive to create. Close the
 * pool after use (`await using`).
 */
export class EnvironmentPool<Task = unknown> implements AsyncDisposable {
  readonly factory: EnvironmentFactory<Task>;
  readonly #onCloseError: (error: ErrorData) => void;
  /** All instances that are not closed or closing. */
  readonly #live = new Set<Environment<Task>>();
  readonly #idle: Environment<Task>[] = [];
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  /**
   * `onCloseError` is called for instances whose `close` throws or takes more than 30 s. Without it, they are ignored.
   */
  constructor(factory: EnvironmentFactory<Task>, options: { readonly onCloseError?: (error: ErrorData) => void } = {}) {
    this.factory = factory;
    this.#onCloseError = options.onCloseError ?? (() => {});
  }

  /** Returns an idle instance or creates one. Return it by `release` or `discard`. */
  async acquire(): Promise<Environment<Task>> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const created = await createInstance(this.factory);
    if (this.#live.has(created)) {
      throw contractError({
        environment: this.factory.spec.id,
        problem: "returned the same instance twice",
        rule: "create must return a new instance each time, because an instance plays one episode at a time.",
      });
    }
    this.#live.add(created);
    return created;
  }

  /** Returns an instance without a running call to the pool. */
  release(environment: Environment<Task>): void {
    if (this.#closed) this.discard(environment);
    else this.#idle.push(environment);
  }

  /** Closes an instance that failed or was abandoned during a call. It is never used again. */
  discard(environment: Environment<Task>): void {
    this.#live.delete(environment);
    const closing = this.#closeInstance(environment).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Closes the idle instances and waits for those that are already closing. A second call has no effect. */
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
    message: `An instance of environment "${environment}" did not close in ${closeMs / 1000} s and was abandoned.`,
    hint: "Its close waits for an operation that does not end.",
  });
}
