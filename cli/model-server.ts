import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { openAIError } from "../server/capture/dialects/openai-error.ts";
import { completionApp } from "../server/completions/completion-app.ts";
import { checkToken } from "../server/http/check-token.ts";
import { endSlowReaders } from "../server/http/heartbeat.ts";
import { bearerToken, sameSecret } from "../server/http/same-secret.ts";
import { requestMetrics } from "../server/http/server-metrics.ts";
import { foreignRequest, isLoopback } from "../src/core/network/allowed-origin.ts";
import { createHttpServer } from "../src/core/network/create-server.ts";
import { listen } from "../src/core/network/listen.ts";
import { downloadPrefix } from "../trainers/tinker/service/checkpoint-routes.ts";
import { tinkerApp } from "../trainers/tinker/service/tinker-app.ts";
import type { TinkerService } from "../trainers/tinker/service/tinker-service.ts";

/** The options of {@link startModelServer}. */
export interface ModelServerOptions {
  readonly service: TinkerService;
  readonly hostname: string;
  /** A free port by default. */
  readonly port?: number | undefined;
  /** The key that clients must send. */
  readonly token?: string | undefined;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

/** A running server of the Tinker API and of completions. Disposal ends it and its connections. */
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  /**
   * Refuses new work. Waits until the accepted work has ended and its results are received, or until the signal aborts.
   */
  drain(options: { readonly signal: AbortSignal }): Promise<void>;
}

/** The maximum size of a request in bytes. */
const maxBodyBytes = 64 * 2 ** 20;

/**
 * The time in milliseconds in which a client must read waiting bytes, and in which it must send the headers of a
 * request.
 */
const slowMs = 60_000;

/**
 * Starts a server. Throws `config.invalid` if the port is in use, for a blank token, and for an address that other
 * machines reach without a token.
 */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { service, hostname, port = 0, token, tls } = options;
  checkToken(token, { hostname });
  const local = isLoopback(hostname);
  const metrics = requestMetrics([
    { name: "lyceum_sessions", help: "The number of open sessions.", value: () => service.statistics().sessions },
    { name: "lyceum_models", help: "The number of models in training.", value: () => service.statistics().models },
    {
      name: "lyceum_models_max",
      help: "The maximum number of models in training.",
      value: () => service.statistics().maxModels,
    },
    {
      name: "lyceum_running_requests",
      help: "The number of accepted requests without a result.",
      value: () => service.statistics().running,
    },
  ]);
  const tinker = getRequestListener(tinkerApp({ service, maxBodyBytes }).fetch);
  const completions = getRequestListener(completionApp({ models: service, maxBodyBytes }).fetch);
  let running = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (path === "/healthz") return sendText(response, "application/json", '{"status":"ok"}');
    if (path === "/metrics") return sendText(response, "text/plain; version=0.0.4", await metrics.text());
    const isCompletion = path.startsWith("/v1/");
    const started = performance.now();
    if (isCompletion) running += 1;
    response.once("close", () => {
      if (isCompletion) running -= 1;
      const { statusCode } = response;
      const kind = isCompletion ? "completion" : "tinker";
      // 408 is the answer to a request for a result that is not complete yet.
      metrics.answered({ kind, ms: performance.now() - started, failed: statusCode >= 400 && statusCode !== 408 });
    });
    await (isCompletion ? completions : tinker)(request, response);
  };

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.split("?")[0] ?? "";
    const foreign = local && token === undefined ? foreignRequest(request) : undefined;
    const isOpen = path === "/healthz" || path === "/api/v1/healthz" || path.startsWith(downloadPrefix);
    const allowed = token === undefined || isOpen || sameSecret(token, keyOf(request));
    if (foreign === undefined && allowed) return await answer(request, response, path);
    metrics.refused(foreign ?? "token");
    const status = foreign === undefined ? 401 : 403;
    const detail = status === 401 ? "The API key is wrong." : "This server answers only programs on its own machine.";
    const error = openAIError({ status, message: detail, code: "server.unauthorized" });
    // The rest of a refused request is not read.
    const headers = { "content-type": "application/json", connection: "close" };
    response.writeHead(status, headers).end(JSON.stringify(path.startsWith("/v1/") ? error : { detail }));
  };

  const limits = { headersTimeout: slowMs, requestTimeout: 5 * slowMs, connectionsCheckingInterval: slowMs / 3 };
  const server = createHttpServer({ request: onRequest, tls, limits });
  server.keepAliveTimeout = slowMs;
  endSlowReaders(server, slowMs);
  const { authority } = await listen(server, { hostname, port });
  return {
    url: `${tls === undefined ? "http" : "https"}://${authority}`,
    drain: async ({ signal }) => {
      await service.drain({ signal });
      while (running > 0 && !signal.aborted) await setTimeout(20);
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Returns the key of a request: `X-API-Key`, as the Tinker SDK sends it, or `Authorization: Bearer`. */
function keyOf({ headers }: IncomingMessage): string {
  const key = headers["x-api-key"];
  return bearerToken(headers.authorization) || (typeof key === "string" ? key : "");
}

function sendText(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { "content-type": type }).end(text);
}
