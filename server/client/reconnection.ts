import { LyceumError } from "../../src/contract/errors/index.ts";
import { backoffMs, sleep } from "../../src/core/policy/serving/retry-wait.ts";
import type { RemoteSettings } from "./remote-options.ts";

/** Waits between the attempts of one call to reach its server, up to a maximum time. */
export class Reconnection {
  readonly #shown: string;
  readonly #settings: RemoteSettings;
  #began: number | undefined;
  #attempts = 0;

  constructor(shown: string, settings: RemoteSettings) {
    this.#shown = shown;
    this.#settings = settings;
  }

  /** True after the first failed attempt. */
  get hasFailed(): boolean {
    return this.#attempts > 0;
  }

  /** Waits after a failed attempt. Throws `environment.unavailable` if the maximum time has passed. */
  async wait(error: LyceumError, signal: AbortSignal | undefined): Promise<void> {
    const { reconnectMs, notice } = this.#settings;
    const now = performance.now();
    this.#began ??= now;
    const left = reconnectMs - (now - this.#began);
    if (left <= 0) throw this.#givenUp(error);
    // A connection that only broke is often back at once.
    if (this.#attempts === 1) {
      notice.begin(`${error.message} Waiting up to ${seconds(reconnectMs)} s for ${this.#shown}.`);
    }
    const pause = backoffMs({
      retryDelayMs: 200,
      maxRetryDelayMs: 5_000,
      retries: this.#attempts,
      random: Math.random(),
    });
    this.#attempts += 1;
    await sleep(Math.min(pause, left), signal);
  }

  /** Reports that the call has reached its server after it waited. */
  reached(): void {
    if (this.#attempts < 2) return;
    this.#settings.notice.end(`${this.#shown} answers again after ${seconds(performance.now() - this.#began!)} s.`);
  }

  #givenUp(cause: LyceumError): LyceumError {
    const { reconnectMs } = this.#settings;
    const full = cause.code === "server.capacity";
    return new LyceumError({
      code: "environment.unavailable",
      message: `The environment server ${this.#shown} was not available within ${seconds(reconnectMs)} s. ${cause.message}`,
      hint: full
        ? "Play fewer episodes at once (--concurrency), or start the server with a greater --max-sessions."
        : "Start the server again. The episode is unscored, because this is not the policy's fault.",
      data: { reason: "given-up", address: this.#shown },
      cause,
    });
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
