import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { isJsonObject, type Json, tryParseJson } from "../../../src/contract/json.ts";
import { backoffMs, retryAfterMs, sleep } from "../../../src/core/policy/serving/retry-wait.ts";
import { invalidBody } from "../../tinker/protocol/bytes.ts";
import { exchangeIdHeader } from "../../tinker/protocol/exchange-id.ts";
import { protobufType } from "../../tinker/protocol/pass-request.ts";
import { type ResultReader, refusalOf } from "../../tinker/protocol/result-reader.ts";
import { exchange, type HttpAnswer, type HttpRequest } from "./http-exchange.ts";
import { noArchive, refused, unavailable, unknownOutcome } from "./tinker-error.ts";

/** The waits and limits of requests. */
export interface ConnectionTimes {
  /** How long failures are retried, in milliseconds. Also how long a server may be away. Default: 120,000. */
  readonly retryForMs?: number;
  /**
   * The timeout of one request. A poll for a result that times out is sent again: the result is not there yet if the
   * server has answered another request, such as a sign of life, in the meantime. Default: 60,000.
   */
  readonly requestTimeoutMs?: number;
  /** The first wait before a retry or another poll. It doubles up to `maxDelayMs`. Default: 100. */
  readonly delayMs?: number;
  /** Default: 5000. */
  readonly maxDelayMs?: number;
  /** How often the session says that it is alive. Servers end silent sessions after minutes. Default: 10,000. */
  readonly heartbeatMs?: number;
}

/** The options of one request. */
export interface CallOptions {
  /** False if a request that may have been applied must not be sent again. Default: true. */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Failures before anything of a request is sent. */
const notSent: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** The server has no such operation. It will have none later. */
const notImplemented = 501;

/** Statuses that say that the server did not take the request: timeout while reading, too early, too many. */
const notTaken: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Sends requests to a server of the Tinker API and waits for their results. It retries 408, 425, 429, 5xx other than
 * 501, and broken connections. A request that is not repeatable is sent again only if the server certainly did not take
 * it.
 */
export class TinkerConnection {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #times: Required<Omit<ConnectionTimes, "heartbeatMs">>;
  /** Begins the ids of this connection's requests. */
  readonly #name = randomUUID().slice(0, 8);
  #requests = 0;
  /** The time at which the server last answered a request without a failure of its own. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** True if the server copies the ids of requests into its answers. */
  #copiesIds = false;

  constructor(options: {
    readonly url: string;
    readonly apiKey: string;
    readonly times?: ConnectionTimes | undefined;
  }) {
    this.#base = `${options.url.replace(/\/+$/, "").replace(/\/api\/v1$/, "")}/api/v1/`;
    this.#headers = {
      accept: "application/json",
      "content-type": "application/json",
      "x-api-key": options.apiKey,
      "user-agent": "lyceum",
    };
    const times = { retryForMs: 120_000, requestTimeoutMs: 60_000, delayMs: 100, maxDelayMs: 5000 };
    this.#times = { ...times, ...options.times };
  }

  /** Gets a JSON document. */
  async get<T>(route: string, schema: z.ZodType<T>, options: CallOptions = {}): Promise<T> {
    const answer = await this.#retry(route, "GET", undefined, options);
    return parsed(route, () => schema.parse(answer));
  }

  /** Downloads a file and follows redirects. */
  async download(route: string, options: CallOptions = {}): Promise<Buffer> {
    let answer = await this.#send(route, "GET", undefined, { ...options, any: true });
    for (let redirects = 0; answer.status >= 300 && answer.status < 400 && redirects < 5; redirects++) {
      const url = new URL(answer.headers.location ?? "", new URL(route, this.#base));
      if (url.protocol !== "http:" && url.protocol !== "https:") throw noArchive(url);
      // A signed address on another machine does not get the key.
      const headers = url.origin === new URL(this.#base).origin ? { ...this.#headers, accept: "*/*" } : {};
      answer = await exchange({ ...this.#request("GET", options), url, headers, maxBytes: maxArchiveBytes });
    }
    if (answer.status === 200) return answer.body;
    throw refused({ route, status: answer.status, detail: detailOf(answer) });
  }

  /** Deletes something. Returns false if the server cannot. */
  async delete(route: string): Promise<boolean> {
    const answer = await this.#send(route, "DELETE", undefined, { any: true }).catch(() => undefined);
    return answer !== undefined && answer.status >= 200 && answer.status < 300;
  }

  /** Posts a JSON document, or a body in the binary encoding, and reads the answer. */
  async post<T>(route: string, body: object | Uint8Array, schema: z.ZodType<T>, options: CallOptions = {}): Promise<T> {
    const answer = await this.#retry(route, "POST", body, options);
    return parsed(route, () => schema.parse(answer));
  }

  /**
   * Waits for the result of a request. The server answers when it has the result, or after a while that it has none
   * yet. Some servers, such as SkyRL, hold a request for longer than its timeout. A request that times out then counts
   * as such an answer, while the server answers the signs of life of the session. Throws `backend.failed` with the
   * server's words if the request failed, and `backend.unavailable` if the server no longer knows it or no longer
   * answers.
   */
  async result<T>(
    promise: { readonly request_id: string },
    reader: ResultReader<T>,
    options: { readonly what: string; readonly binary?: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<T> {
    const { what, signal, binary = false } = options;
    const { request_id } = promise;
    const wanted = binary && reader.bytes !== undefined;
    const accept = wanted ? `${protobufType}, application/json` : this.#headers.accept!;
    const { delayMs, maxDelayMs, retryForMs } = this.#times;
    let failingSince: number | undefined;
    let malformed = 0;
    for (let polls = 0; ; polls++) {
      let problem: unknown;
      let asked: number | undefined;
      const sentAt = performance.now();
      try {
        const url = new URL("retrieve_future", this.#base);
        const headers = { ...this.#headers, accept, "x-tinker-request-iteration": String(polls) };
        const body = JSON.stringify({ request_id });
        const answer = await this.#exchange({ ...this.#request("POST", { signal }), url, headers, body });
        const content = contentOf(answer);
        asked = retryAfterMs(answer.headers as Record<string, string>);
        if (answer.status === 200 && content !== undefined) {
          if (!isTryAgain(content)) {
            try {
              return resultOf(what, reader, content);
            } catch (error) {
              // A proxy may have mixed up answers. The request itself is not sent again.
              if (!isMalformed(error) || ++malformed === mostMalformed) throw error;
            }
          }
          failingSince = undefined;
        } else if (answer.status === 408) failingSince = undefined;
        else if (answer.status === 404 || answer.status === 410) {
          const lost = `The server no longer knows the request ${request_id} (${what}, ${answer.status}).`;
          throw unavailable(`${lost} ${savedBefore(what)}`);
        } else if (answer.status === 200) problem = new Error("The server's answer is not JSON");
        else if (answer.status === 429 || answer.status >= 500)
          problem = new Error(`${answer.status}: ${detailOf(answer)}`);
        else throw refused({ route: what, status: answer.status, detail: detailOf(answer) });
      } catch (error) {
        signal?.throwIfAborted();
        if (LyceumError.isInstance(error)) throw error;
        if (isTimeout(error) && this.#heardAt > sentAt) failingSince = undefined;
        else problem = error;
      }
      const now = performance.now();
      if (problem !== undefined) {
        failingSince ??= sentAt;
        if (now - failingSince > retryForMs) {
          const why = `The server did not answer for the result of ${what}. ${messageOf(problem)}.`;
          throw unavailable(`${why} ${savedBefore(what)}`, problem);
        }
      }
      const own = backoffMs({
        retryDelayMs: delayMs,
        maxRetryDelayMs: maxDelayMs,
        retries: polls,
        random: Math.random(),
      });
      await sleep(Math.max(asked ?? 0, own), signal);
    }
  }

  #request(method: HttpRequest["method"], { repeatable = true, signal }: CallOptions): Omit<HttpRequest, "url"> {
    return {
      method,
      headers: this.#headers,
      ownConnection: !repeatable,
      timeoutMs: this.#times.requestTimeoutMs,
      signal,
    };
  }

  /**
   * Sends one request with an id. Rejects with `ERR_FOREIGN_ANSWER` if the answer has another id, or has none although
   * the server copies ids. An error without an id is accepted, because it can come from a proxy.
   */
  async #exchange(request: HttpRequest): Promise<HttpAnswer> {
    const id = `${this.#name}-${++this.#requests}`;
    const answer = await exchange({ ...request, headers: { ...request.headers, [exchangeIdHeader]: id } });
    if (answer.status < 500) this.#heardAt = performance.now();
    const copied = answer.headers[exchangeIdHeader];
    if (copied === id) this.#copiesIds = true;
    else if (copied !== undefined || (this.#copiesIds && answer.status < 400)) {
      throw Object.assign(new Error("The answer belongs to another request"), { code: "ERR_FOREIGN_ANSWER" });
    }
    return answer;
  }

  /** Sends a request until its answer is a JSON document. */
  async #retry(
    route: string,
    method: "GET" | "POST",
    body: object | undefined,
    options: CallOptions,
  ): Promise<unknown> {
    const answer = await this.#send(route, method, body, options);
    return tryParseJson(answer.body.toString("utf8"));
  }

  /** Sends a request until it succeeds. With `any`, every answer that is not a failure of the server is a success. */
  async #send(
    route: string,
    method: HttpRequest["method"],
    body: object | undefined,
    options: CallOptions & { readonly any?: boolean },
  ): Promise<HttpAnswer> {
    const { repeatable = true, signal, any = false } = options;
    const { delayMs, maxDelayMs, retryForMs } = this.#times;
    const started = performance.now();
    const sent = body === undefined ? {} : { body: body instanceof Uint8Array ? body : JSON.stringify(body) };
    const headers = {
      ...this.#headers,
      ...(body instanceof Uint8Array ? { "content-type": protobufType } : {}),
      ...(any ? { accept: "*/*" } : {}),
    };
    for (let tries = 0; ; tries++) {
      let problem: string;
      let cause: unknown;
      let asked: number | undefined;
      let taken = true;
      try {
        const answer = await this.#exchange({
          ...this.#request(method, options),
          url: new URL(route, this.#base),
          headers,
          ...sent,
          ...(any ? { maxBytes: maxArchiveBytes } : {}),
        });
        const { status } = answer;
        const success = status >= 200 && status < 300;
        if (success && (any || tryParseJson(answer.body.toString("utf8")) !== undefined)) return answer;
        if (!success && (status < 500 || status === notImplemented) && !notTaken.has(status)) {
          if (any) return answer;
          throw refused({ route, status, detail: detailOf(answer) });
        }
        problem = success ? "its answer is not JSON" : `it answered ${status}: ${detailOf(answer)}`;
        taken = !notTaken.has(status);
        asked = retryAfterMs(answer.headers as Record<string, string>);
      } catch (error) {
        signal?.throwIfAborted();
        if (LyceumError.isInstance(error)) throw error;
        problem = messageOf(error);
        cause = error;
        taken = !notSent.has(String((error as { code?: unknown }).code));
      }
      if (taken && !repeatable) throw unknownOutcome(route, problem, cause);
      if (performance.now() - started > retryForMs) {
        throw unavailable(`The server at ${this.#base} gave no answer to ${route}: ${problem}.`, cause);
      }
      const own = backoffMs({
        retryDelayMs: delayMs,
        maxRetryDelayMs: maxDelayMs,
        retries: tries,
        random: Math.random(),
      });
      await sleep(Math.max(asked ?? 0, own), signal);
    }
  }
}

/** The maximum size of a downloaded archive: an adapter of 4 billion weights of two bytes. */
const maxArchiveBytes = 2 ** 33;

/** How often a malformed result is requested again. */
const mostMalformed = 5;

const malformedReason = "malformed";

function isTimeout(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === "ETIMEDOUT";
}

/** Returns a hint about saved work, for an operation whose result was lost. */
function savedBefore(what: string): string {
  switch (what) {
    case "create_model":
      return "The model was not created here, and nothing of it was saved.";
    case "save_weights":
    case "save_weights_for_sampler":
      return `It is unknown whether the server finished ${what}. This checkpoint does not count as saved.`;
    default:
      return "Optimizer steps after the last checkpoint are not saved.";
  }
}

function isMalformed(error: unknown): boolean {
  return LyceumError.isInstance(error) && isJsonObject(error.data) && error.data.reason === malformedReason;
}

function parsed<T>(route: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const why = refusalOf(cause);
    if (why === undefined) throw cause;
    throw new LyceumError({
      code: "backend.failed",
      message: `The answer of the server to ${route} is malformed: ${why.replace(/\.$/, "")}.`,
      hint: "Check that backend.url is a server of the Tinker API.",
      data: { route, reason: malformedReason },
      cause,
    });
  }
}

/** Returns the bytes of a protobuf answer, or the document of any other. Undefined if it is not JSON. */
function contentOf({ headers, body }: HttpAnswer): Json | Uint8Array | undefined {
  return headers["content-type"]?.includes(protobufType) === true ? body : tryParseJson(body.toString("utf8"));
}

function isTryAgain(content: Json | Uint8Array): boolean {
  return !(content instanceof Uint8Array) && isJsonObject(content) && content.type === "try_again";
}

/** Reads a result. Some servers report the failure of a request as a result with an `error`. */
function resultOf<T>(what: string, reader: ResultReader<T>, content: Json | Uint8Array): T {
  if (content instanceof Uint8Array) {
    return parsed(what, () => {
      if (reader.bytes === undefined) throw invalidBody("it is in protobuf");
      return reader.bytes(content);
    });
  }
  const error = isJsonObject(content) ? content.error : undefined;
  if (typeof error === "string") throw refused({ route: what, status: 200, detail: error });
  return parsed(what, () => reader.json(content));
}

/** Returns what an answer says about its failure, shortened. */
function detailOf({ body }: HttpAnswer): string {
  const text = body.toString("utf8");
  const content = tryParseJson(text);
  const detail = isJsonObject(content) ? (content.detail ?? content.error ?? content.message ?? content) : content;
  const words = typeof detail === "string" ? detail : detail === undefined ? text : JSON.stringify(detail);
  return words.length > 500 ? `${words.slice(0, 500)}...` : words;
}

function messageOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return [message || "the connection failed", ...(code === undefined ? [] : [`(${code})`])].join(" ");
}
