import { setTimeout as delay } from "node:timers/promises";
import { untilAborted } from "../../../src/core/concurrency/until-aborted.ts";
import { completionsSchema } from "../../tinker/protocol/answers.ts";
import type { TinkerConnection } from "./tinker-connection.ts";

/** The longest wait for a report in milliseconds. After it, the client asks for the result itself. */
const mostWaitMs = 60_000;

/** The pause in milliseconds after a report without an ended request, for servers that do not wait for one. */
const pauseMs = 100;

/**
 * Waits for all samples of a sampling session by one request at a time, instead of one poll for each sample. Reports
 * are only hints: the client gets each result by the id of its request.
 */
export class CompletionPoller {
  readonly #connection: TinkerConnection;
  readonly #samplingSession: string;
  /** The function that resolves each waiting request. */
  readonly #waiting = new Map<string, () => void>();
  /** The requests that have ended before anyone waited for them. */
  readonly #ended = new Set<string>();
  /** The requests whose results have arrived, which the server may delete. */
  readonly #received = new Set<string>();
  #cursor = 0;
  /** Ends the poll that is under way. Undefined if there is none. */
  #stop: AbortController | undefined;
  #failed = false;

  constructor(connection: TinkerConnection, samplingSession: string) {
    this.#connection = connection;
    this.#samplingSession = samplingSession;
  }

  /** Resolves when a request has ended, if polls fail, or after a minute. */
  async ended(requestId: string, signal: AbortSignal): Promise<void> {
    if (this.#failed || this.#ended.delete(requestId)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = new AbortController();
    this.#waiting.set(requestId, resolve);
    if (this.#stop === undefined) void this.#poll();
    try {
      const late = delay(mostWaitMs, undefined, { signal: done.signal, ref: false }).catch(() => undefined);
      await untilAborted(Promise.race([promise, late]), signal);
    } finally {
      done.abort();
      this.#waiting.delete(requestId);
      if (this.#waiting.size === 0) this.#endPoll();
    }
  }

  #endPoll(): void {
    this.#stop?.abort();
    this.#stop = undefined;
  }

  /** Reports, with the next poll, that a result has arrived. */
  received(requestId: string): void {
    this.#received.add(requestId);
  }

  async #poll(): Promise<void> {
    const stop = new AbortController();
    this.#stop = stop;
    try {
      while (this.#waiting.size > 0 && !stop.signal.aborted) await this.#pollOnce(stop.signal);
    } catch {
      if (stop.signal.aborted) return;
      // The server has no such route, or does not answer. From now on, each request polls for its own result.
      this.#failed = true;
      for (const release of this.#waiting.values()) release();
    } finally {
      if (this.#stop === stop) this.#stop = undefined;
    }
  }

  async #pollOnce(signal: AbortSignal): Promise<void> {
    const received = [...this.#received];
    const body = {
      target: { type: "sampling_session", sampling_session_id: this.#samplingSession, cloned_sampler_id: 0 },
      prev_cursor: this.#cursor,
      retrieved_request_ids: received,
    };
    const { completions, cursor } = await this.#connection.post("retrieve_futures", body, completionsSchema, {
      signal,
    });
    for (const id of received) this.#received.delete(id);
    this.#cursor = cursor;
    if (completions.length === 0) await delay(pauseMs, undefined, { signal });
    for (const { request_id: id } of completions) {
      const release = this.#waiting.get(id);
      if (release === undefined) this.#ended.add(id);
      this.#waiting.delete(id);
      release?.();
    }
  }
}
