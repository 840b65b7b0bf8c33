import { LyceumError } from "../../src/contract/errors/index.ts";
import type { ActRequest, ActResult } from "../../src/contract/policy.ts";
import { boundedWait } from "../../src/core/rollout/bounded-wait.ts";

/**
 * Passes answers between the agents of an episode that a rollout asks simultaneously. Identifies an episode by its
 * signal. Rejects with `policy.unsupported-input` outside of a rollout.
 */
export class Exchange {
  readonly #answers = new WeakMap<AbortSignal, Map<string, PromiseWithResolvers<ActResult>>>();

  /** Answers a request and passes the answer, or its error, to the agent that waits for it. */
  async give(agent: string, request: ActRequest, answer: () => Promise<ActResult>): Promise<ActResult> {
    const { resolve, reject, promise } = this.#place(agent, request);
    promise.catch(() => {});
    try {
      const result = await answer();
      resolve(result);
      return result;
    } catch (error) {
      reject(error);
      throw error;
    }
  }

  /** Waits for another agent's answer in this turn. Rejects with its error, or with `aborted`. */
  async wait(agent: string, request: ActRequest): Promise<ActResult> {
    const { promise } = this.#place(agent, request);
    return await boundedWait(promise, { signal: request.signal! });
  }

  #place(agent: string, { signal, episode }: ActRequest): PromiseWithResolvers<ActResult> {
    if (signal === undefined || episode === undefined) {
      throw new LyceumError({
        code: "policy.unsupported-input",
        message: "A baseline with communicating policies was used outside of a rollout.",
        hint: "Pass both policies to rollout, rolloutGroup or rolloutEpisode.",
      });
    }
    const places = this.#answers.get(signal) ?? new Map<string, PromiseWithResolvers<ActResult>>();
    this.#answers.set(signal, places);
    const key = `${agent} ${episode.turn}`;
    const place = places.get(key) ?? Promise.withResolvers<ActResult>();
    places.set(key, place);
    return place;
  }
}
