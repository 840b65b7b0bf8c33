import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { LyceumError } from "../../../contract/errors/index.ts";
import { RequestFailure } from "../serving/request-failure.ts";

/** The maximum size of an answer in bytes, far more than any completion needs. */
const maxBytes = 64 * 2 ** 20;

/** A complete answer of a server. The body is valid UTF-8. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * Sends a request with an optional JSON body and reads the whole answer. Does not use `fetch`, which fails after five
 * minutes without a response header, because a slow model can take longer. Throws a transient {@link RequestFailure} if
 * the connection fails or the answer is incomplete.
 */
export function httpJson(options: {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly signal: AbortSignal;
}): Promise<HttpAnswer> {
  const { url, json, signal } = options;
  const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
  const headers = {
    accept: "application/json",
    ...(body === undefined ? {} : { "content-type": "application/json", "content-length": body.length }),
    ...options.headers,
  };
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(connectionFailure(url, error));
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(url, { method: body === undefined ? "GET" : "POST", headers, signal }, (response) => {
      read(response).then((text) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      }, fail);
    });
    request.on("error", fail);
    request.end(body);
  });
}

async function read(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
}

function connectionFailure(url: URL, cause: unknown): RequestFailure {
  const { code, message } = cause as NodeJS.ErrnoException;
  const refused = code === "ECONNREFUSED" || code === "ENOTFOUND";
  const error = new LyceumError({
    code: "policy.unavailable",
    message: `The request to ${url.origin} failed: ${message || code || "the connection failed"}.`,
    hint: refused
      ? "Check that the server is running and that this is its URL."
      : "The connection ended early. Check the server's log.",
    data: { reason: "network", ...(code === undefined ? {} : { code }) },
    cause,
  });
  return new RequestFailure({ error, transient: true });
}
