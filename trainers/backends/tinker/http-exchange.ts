import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { LyceumError } from "../../../src/contract/errors/index.ts";

/** One HTTP request. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * True for a connection of its own. The server can close a reused connection during the request. It is then unknown
   * whether the server has read the request.
   */
  readonly ownConnection: boolean;
  readonly timeoutMs: number;
  /** The maximum size of the answer. 256 MiB by default. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The complete answer to a request. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

const agents = { "http:": new HttpAgent({ keepAlive: true }), "https:": new HttpsAgent({ keepAlive: true }) };

/**
 * Sends one request and reads its whole answer. Rejects with the system's error (its `code` is `ECONNREFUSED`,
 * `ECONNRESET`, ...), with `ETIMEDOUT` at the timeout, with `backend.failed` for an
 * answer above `maxBytes`, with `ERR_BODY_INCOMPLETE` if the answer ends early, and with
 * the signal's reason on abort.
 */
export function exchange(request: HttpRequest): Promise<HttpAnswer> {
  const { url, method, headers, body, ownConnection, timeoutMs, maxBytes = 2 ** 28, signal } = request;
  const secure = url.protocol === "https:";
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  if (signal?.aborted) return Promise.reject(signal.reason);
  const sent = (secure ? httpsRequest : httpRequest)(url, {
    method,
    agent: ownConnection ? false : agents[secure ? "https:" : "http:"],
    headers: { ...headers, ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }) },
  });
  const timer = setTimeout(() => sent.destroy(coded(`No answer within ${timeoutMs} ms`, "ETIMEDOUT")), timeoutMs);
  const abort = (): void => void sent.destroy(signal!.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });
  sent.once("error", reject);
  sent.once("response", (answer) => {
    const parts: Buffer[] = [];
    let length = 0;
    answer.on("data", (part: Buffer) => {
      length += part.length;
      if (length > maxBytes) sent.destroy(tooLarge(url, maxBytes));
      else parts.push(part);
    });
    answer.once("error", reject);
    answer.once("close", () => {
      if (!answer.complete) reject(coded("The answer ended early", "ERR_BODY_INCOMPLETE"));
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) });
    });
  });
  sent.end(body);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  });
}

function tooLarge({ pathname }: URL, maxBytes: number): LyceumError {
  return new LyceumError({
    code: "backend.failed",
    message: `The answer of the server to ${pathname} has more than ${maxBytes} bytes.`,
    hint: "Check that backend.url is a server of the Tinker API.",
  });
}

function coded(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
