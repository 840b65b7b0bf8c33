import type { ServerResponse } from "node:http";
import { type ChatAnswer, completion } from "./chat-server.ts";

/** The ways in which a server can fail one request. Each may be temporary, so a retry may succeed. */
export const transientFaults: Readonly<Record<string, ChatAnswer>> = {
  "500": { status: 500, body: { error: { message: "CUDA out of memory" } } },
  "503 as a page": { status: 503, headers: { "content-type": "text/html" }, body: "<html>Down</html>" },
  "429": { status: 429, body: { error: { message: "Slow down", type: "rate_limit_error" } } },
  "429 with Retry-After": { status: 429, headers: { "retry-after-ms": "5" }, body: "" },
  "429 with a Retry-After that is no time": { status: 429, headers: { "retry-after": "soon" }, body: "" },
  "408": { status: 408, body: "" },
  "closes the socket": (response) => response.destroy(),
  "resets the socket": (response) => response.socket!.resetAndDestroy(),
  "speaks no HTTP": (response) => response.socket!.end("SSH-2.0-OpenSSH_9.9\r\n"),
  "promises more than it sends": (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "10000" });
    response.write('{"choices": [');
    setImmediate(() => response.destroy());
  },
  "ends a chunked body early": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"choices": [');
    setImmediate(() => response.destroy());
  },
  "cuts its JSON": { body: JSON.stringify(completion("4").body).slice(0, -20) },
  "a page instead of JSON": { headers: { "content-type": "text/html" }, body: "<!doctype html><p>Sign in</p>" },
  "no body": { body: "" },
  null: { body: "null" },
  "a list": { body: "[]" },
  "no choices": { body: { object: "chat.completion", usage: {} } },
  "an empty list of choices": completion("4", { body: { choices: [] } }),
  "choices that are no list": completion("4", { body: { choices: "4" } }),
  "two choices": completion("4", { body: { choices: [0, 1].map(() => choiceOf(completion("wrong").body)) } }),
  "a choice without a message": completion("4", { choice: { message: undefined } }),
  "a message that is a text": completion("4", { choice: { message: "4" } }),
  "content that is a number": completion("4", { message: { content: 4 } }),
  "no content and no usage": completion(null, { body: { usage: undefined } }),
  "an empty answer of no tokens": completion("", { body: { usage: { prompt_tokens: 5, completion_tokens: 0 } } }),
  "an unknown finish reason": completion("4", { choice: { finish_reason: "abort" } }),
  "tool calls without a name": completion("4", { message: { tool_calls: [{ id: "1", function: {} }] } }),
  "an error in place of a completion": { body: { error: { message: "upstream timed out", code: 504 } } },
  "text that is no UTF-8": (response) => {
    const [before, after] = JSON.stringify(completion("|").body).split("|");
    response.writeHead(200, { "content-type": "application/json" });
    response.end(Buffer.concat([Buffer.from(before!), Buffer.from([0xc3, 0x28]), Buffer.from(after!)]));
  },
};

/** Faults that last until the client gives up. */
export const stallingFaults: Readonly<Record<string, ChatAnswer>> = {
  "never answers": () => {},
  "stalls after the headers": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
  },
  "stalls in the body": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"choices": [');
  },
  "sends a byte now and then": drip,
};

/** Infinite white space is JSON that has not begun. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const timer = setInterval(() => response.write(" "), 5);
  response.on("close", () => clearInterval(timer));
}

function choiceOf(body: object): unknown {
  return (body as { readonly choices: readonly unknown[] }).choices[0];
}
