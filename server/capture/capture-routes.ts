import type { IncomingMessage, ServerResponse } from "node:http";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { foreignRequest, isLoopback } from "../../src/core/network/allowed-origin.ts";
import { sameSecret } from "../http/same-secret.ts";
import { createAdminRoutes } from "./admin-routes.ts";
import { clientError, unauthorized } from "./capture-error.ts";
import type { CaptureServerOptions } from "./capture-server.ts";
import type { RecordedSession } from "./capture-session.ts";
import { anthropic } from "./dialects/anthropic.ts";
import { countedTokens } from "./dialects/count-tokens.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { openAIChat } from "./dialects/openai-chat.ts";
import { openAIError } from "./dialects/openai-error.ts";
import { openAIResponses } from "./dialects/openai-responses.ts";
import { beginStream, eventText, keyOf, readJson, sendJson } from "./http.ts";
import type { SessionTable } from "./session-table.ts";

const dialects: Readonly<Record<string, Dialect>> = {
  "/v1/chat/completions": openAIChat,
  "/v1/responses": openAIResponses,
  "/v1/messages": anthropic,
};

/** The time in milliseconds after which a stream without an answer begins, and between its signs of life. */
const streamPauseMs = 10_000;

/** Returns the function that answers the requests of a capture server. Their targets are paths. */
export function createCaptureRoutes(
  sessions: SessionTable,
  options: CaptureServerOptions & { readonly host: string },
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { host, adminKey, maxBodyBytes = 32 * 2 ** 20 } = options;
  const local = isLoopback(host);
  const adminRoute = createAdminRoutes(sessions, options);
  const body = (request: IncomingMessage): Promise<unknown> => readJson(request, maxBodyBytes);
  /** A page of another site knows no key, but can make a browser on this machine send requests. */
  const isForeign = (request: IncomingMessage): boolean => {
    if (!local || foreignRequest(request) === undefined) return false;
    const key = keyOf(request);
    return sessions.get(key) === undefined && (adminKey === undefined || !sameSecret(adminKey, key));
  };
  return async (request, response) => {
    // A path such as //host must not become the address of another server.
    const url = new URL(`http://localhost${request.url}`);
    const path = url.pathname.replace(/\/+$/, "").replace(/^(\/v1)?(?=\/(chat|responses|messages|models))/, "/v1");
    const dialect = request.method === "POST" ? dialects[path] : undefined;
    try {
      if (isForeign(request)) throw foreign();
      if (dialect !== undefined) {
        const session = sessions.get(keyOf(request));
        if (session === undefined) throw unauthorized();
        return await answerCall({ session, dialect, body: await body(request), response });
      }
      if (request.method === "POST" && path === "/v1/messages/count_tokens") {
        if (sessions.get(keyOf(request)) === undefined) throw unauthorized();
        return sendJson(response, { body: countedTokens(await body(request)) });
      }
      sendJson(response, await adminRoute({ request, url, path, body: () => body(request) }));
    } catch (error) {
      const shown = dialect ?? (path.startsWith("/v1/messages") ? anthropic : undefined);
      fail({ response, error, dialect: shown });
    }
  };
}

/** Answers a model call, as a stream if the client asks for one. */
async function answerCall({
  session,
  dialect,
  body,
  response,
}: {
  readonly session: RecordedSession;
  readonly dialect: Dialect;
  readonly body: unknown;
  readonly response: ServerResponse;
}): Promise<void> {
  const request = dialect.read(body, session);
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort(clientGone());
  });
  // Clients and proxies may close a silent connection. A stream can send comments to prevent this.
  const signs = request.stream ? setInterval(() => showLife(response), streamPauseMs) : undefined;
  try {
    const answer = await session.ask(request, { dialect: dialect.name, signal: gone.signal });
    if (!request.stream) return sendJson(response, { body: dialect.answer(answer) });
    if (!response.headersSent) beginStream(response);
    response.end(eventText(dialect.events(answer)));
  } finally {
    clearInterval(signs);
  }
}

function showLife(response: ServerResponse): void {
  if (!response.headersSent) beginStream(response);
  response.write(": the model is working\n\n");
}

function fail(options: {
  readonly response: ServerResponse;
  readonly error: unknown;
  readonly dialect: Dialect | undefined;
}): void {
  const { response, error, dialect } = options;
  if (response.writableEnded || response.destroyed) return;
  const told = clientError(error);
  if (response.headersSent) {
    response.end(dialect === undefined ? "" : eventText([dialect.errorEvent(told)]));
    return;
  }
  // Without this header, the clients of both companies repeat a call whose policy failed.
  const headers = { "x-should-retry": String([429, 503].includes(told.status)) };
  sendJson(response, { status: told.status, body: (dialect?.error ?? openAIError)(told), headers });
}

function foreign(): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: "This server answers only programs on its own machine.",
    hint: "Send an API key of the server, or use 127.0.0.1 or localhost as its address.",
    data: { foreign: true },
  });
}

function clientGone(): LyceumError {
  return new LyceumError({ code: "aborted", message: "The client closed its connection before the answer." });
}
