import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";
import { tryParseJson } from "../../../src/contract/json.ts";
import { answerError, callTimeoutError, connectionError } from "../remote-error.ts";
import type { RemoteSettings } from "../remote-options.ts";

/** Asks the HTTP routes of an OpenEnv server. */
export class OpenEnvHttp {
  readonly #shown: string;
  readonly #settings: RemoteSettings;

  constructor({ shown, settings }: { readonly shown: string; readonly settings: RemoteSettings }) {
    this.#shown = shown;
    this.#settings = settings;
  }

  /**
   * Returns the JSON of a route: of `GET`, or of `POST` with a body. Returns undefined if the server has no such route
   * (404, 405 and 501). Rejects with a typed error for every other answer, and with the signal's reason on abort.
   */
  async json(
    url: string,
    { body, signal }: { readonly body?: Json; readonly signal?: AbortSignal | undefined },
  ): Promise<Json | undefined> {
    const { connectMs, token } = this.#settings;
    const timeout = AbortSignal.timeout(connectMs);
    let status: number;
    let text: string;
    try {
      const response = await fetch(url, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      const { pathname } = new URL(url);
      throw timeout.aborted
        ? callTimeoutError(this.#shown, { call: pathname, ms: connectMs })
        : connectionError(this.#shown, error);
    }
    if (status === 404 || status === 405 || status === 501) return undefined;
    if (status === 401 || status === 403) throw unauthorized(this.#shown, status);
    if (status >= 500) throw connectionError(this.#shown, `it answers with status ${status}.`);
    const parsed = tryParseJson<Json>(text);
    if (status !== 200 || parsed === undefined) {
      const { pathname } = new URL(url);
      throw answerError(this.#shown, status === 200 ? `${pathname} is no JSON.` : `${pathname} has status ${status}.`);
    }
    return parsed;
  }
}

/** The error for a token that a server refuses. */
export function unauthorized(shown: string, status: number): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: `The environment server ${shown} refuses the token (status ${status}).`,
    hint: "Set the server's token in LYCEUM_SERVER_TOKEN, or in a variable that tokenVariable names.",
  });
}
