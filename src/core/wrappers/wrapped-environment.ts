import type { Environment, EnvironmentSpec, Observations, StepResult } from "../../contract/environment.ts";
import type { Json } from "../../contract/json.ts";
import { contractError } from "../environment/environment-error.ts";
import type { Actions, EpisodeStart, WrappedEpisode } from "./wrap-environment.ts";

/** An instance of a wrapper and its inner instance. */
export class WrappedEnvironment<Task> implements Environment<Task> {
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  /** Present if the inner instance has them. */
  readonly fork?: () => Promise<Environment<Task>>;
  readonly state?: () => Json;
  readonly #inner: Environment<Task>;
  readonly #start: (start: EpisodeStart<Task>) => WrappedEpisode;
  #episode: WrappedEpisode | undefined;

  constructor(options: {
    readonly inner: Environment<Task>;
    readonly spec: EnvironmentSpec;
    readonly start: (start: EpisodeStart<Task>) => WrappedEpisode;
    readonly episode?: WrappedEpisode | undefined;
  }) {
    const { inner, spec, start, episode } = options;
    this.spec = spec;
    this.#inner = inner;
    this.#start = start;
    this.#episode = episode;
    if (inner.fork !== undefined) {
      this.fork = async () =>
        new WrappedEnvironment({ inner: await inner.fork!(), spec, start, episode: this.#episode?.copy() });
    }
    if (inner.state !== undefined) this.state = () => inner.state!();
  }

  async reset(options: EpisodeStart<Task> & { readonly signal?: AbortSignal }): Promise<Observations> {
    await this.#leave();
    const observations = await this.#inner.reset(options);
    const episode = this.#start({ task: options.task, seed: options.seed });
    const shown = (await episode.begin?.(observations)) ?? observations;
    this.#episode = episode;
    return shown;
  }

  async step(actions: Actions, options?: { readonly signal?: AbortSignal }): Promise<StepResult> {
    const episode = this.#episode;
    if (episode === undefined) {
      throw this.#broken(
        "was stepped without a running episode",
        "Call reset before step, and again after each episode.",
      );
    }
    options?.signal?.throwIfAborted();
    const result = await episode.step(actions, (passed) => this.#inner.step(passed, options));
    if (this.#episode !== episode)
      throw this.#broken("was reset or closed during a step", "Wait for each call before the next one.");
    if (Object.keys(result.observations).length === 0) this.#episode = undefined;
    return result;
  }

  async close(): Promise<void> {
    try {
      await this.#leave();
    } finally {
      await this.#inner.close();
    }
  }

  async #leave(): Promise<void> {
    const episode = this.#episode;
    this.#episode = undefined;
    await episode?.leave?.();
  }

  #broken(problem: string, rule: string): Error {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}
