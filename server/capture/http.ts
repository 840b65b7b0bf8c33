import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { messageLimits, parseLimitedJson } from "../../src/core/network/limited-json.ts";
import { withRequestTexts } from "../../src/core/text/exact-json.ts";
import type { StreamEvent } from "./dialects/dialect.ts";

/** Reads a JSON body, with the exact texts of what templates print again. Throws `server.invalid-request` if it is not JSON, is longer than `maxBytes` or has too many values. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (Number(request.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
  const pieces: Buffer[] = [];
  let length = 0;
  // The request stays open after an error, so that the client can read the answer.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    pieces.push(piece);
  }
  const bytes = Buffer.concat(pieces);
  const text = isUtf8(bytes) ? new TextDecoder().decode(bytes) : "";
  const json = parseLimitedJson(text, messageLimits);
  if (json !== undefined) return withRequestTexts(json, text);
  throw new LyceumError({ code: "server.invalid-request", message: "The body is not JSON in UTF-8." });
}

/** Sends a JSON body. */
export function sendJson(
  response: ServerResponse,
  { status = 200, body, headers = {} }: { status?: number; body: unknown; headers?: Readonly<Record<string, string>> },
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length, ...headers });
  response.end(bytes);
}

/** Begins a stream of server-sent events. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    // Proxies such as nginx would otherwise keep the events until the end.
    "x-accel-buffering": "no",
  });
}

/** Returns the text of events. */
export function eventText(events: readonly StreamEvent[]): string {
  return events
    .map(({ event, data }) => {
      const text = typeof data === "string" ? data : JSON.stringify(data);
      return `${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`;
    })
    .join("");
}

/** Returns the key of a request: the token of `Authorization: Bearer`, or `x-api-key`. */
export function keyOf({ headers }: IncomingMessage): string {
  const bearer = /^bearer\s+(.*)$/i.exec(headers.authorization ?? "")?.[1];
  const key = headers["x-api-key"];
  return (bearer ?? (typeof key === "string" ? key : "")).trim();
}

function tooLarge(maxBytes: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The request is larger than ${maxBytes} bytes.`,
    hint: "Send less, or start the server with a greater maxBodyBytes.",
    data: { tooLarge: true },
  });
}
