import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { toErrorData } from "../../contract/errors/index.ts";
import { thrownAt } from "../../contract/errors/source-location.ts";
import { warn } from "../text/warn.ts";

/** What a server does with a request. A promise ends when the request is answered. */
export type RequestHandler<Request, Response> = (request: Request, response: Response) => unknown;

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

/**
 * Wraps a handler of requests of HTTP/1.1 or HTTP/2, so that no request ends the process: Node ends it for every error
 * that a handler throws, rejects with, or leaves unheard on a request. A request whose address is no URL gets 400. A
 * handler that fails gets 500 for the client and one line in the log.
 */
export function containedHandler<Request extends AnyRequest, Response extends AnyResponse>(
  handler: RequestHandler<Request, Response>,
): (request: Request, response: Response) => void {
  return (request, response) => {
    // A broken connection is the client's matter. Its response then says that it is destroyed.
    request.on("error", () => {});
    response.on("error", () => {});
    void contained({
      run: () => (hasAddress(request) ? handler(request, response) : answer(response, 400)),
      isGone: () => ("stream" in response ? response.stream?.destroyed !== false : response.destroyed),
      fail: () => answer(response, 500),
    });
  };
}

/** Runs a listener of a server's event. Logs what it throws, and calls `fail` unless the client has gone. */
export async function contained(options: {
  readonly run: () => unknown;
  readonly isGone: () => boolean;
  readonly fail: () => void;
}): Promise<void> {
  const { run, isGone, fail } = options;
  try {
    await run();
  } catch (error) {
    if (isGone()) return;
    const { name, message } = toErrorData(error);
    const place = thrownAt(error);
    warn("Server", `A request failed: ${name}: ${message}${place === undefined ? "" : ` (${place})`}`);
    try {
      fail();
    } catch {
      // The client leaves while it is answered.
    }
  }
}

/**
 * True if the target is a path and, with the one host or authority, makes a URL. Libraries behind the servers build one
 * and throw otherwise. HTTP/1.0 has no host. Of several hosts, Node shows the first one, and a proxy may use another.
 */
export function hasAddress(request: AnyRequest): boolean {
  const { url = "", rawHeaders } = request;
  if (rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length > 1) return false;
  const authority = "authority" in request ? request.authority : request.headers.host;
  return url.startsWith("/") && URL.canParse(`http://${authority ?? "localhost"}${url}`);
}

const details = {
  400: "The address of the request is invalid.",
  500: "The server failed. Its log says why.",
} as const;

function answer(response: AnyResponse, status: 400 | 500): void {
  const isHttp2 = "stream" in response;
  if (response.headersSent) {
    if (isHttp2) response.stream.destroy();
    else response.destroy();
    return;
  }
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  // The rest of the request is not read. HTTP/2 has no header for this.
  if (!isHttp2) response.setHeader("connection", "close");
  response.end(JSON.stringify({ detail: details[status] }));
}
