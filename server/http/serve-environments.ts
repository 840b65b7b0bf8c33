import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { type WebSocket, WebSocketServer } from "ws";
import { foreignRequest, isLoopback } from "../../src/core/network/allowed-origin.ts";
import { createHttpServer } from "../../src/core/network/create-server.ts";
import { listen } from "../../src/core/network/listen.ts";
import { serveSocket } from "../openenv/socket.ts";
import type { SessionHost } from "../session/session-host.ts";
import { checkToken } from "./check-token.ts";
import { environmentApp } from "./environment-app.ts";
import { endSlowReaders, watchConnections } from "./heartbeat.ts";
import { bearerToken, sameSecret } from "./same-secret.ts";
import { serverMetrics } from "./server-metrics.ts";

/** The default of `maxMessageBytes`. */
export const defaultMaxMessageBytes: number = 16 * 1024 * 1024;

/** The time in milliseconds that an unused connection stays open: an agent often works for a while between two requests. */
const keepAliveMs = 120_000;

/** The options of {@link serveEnvironments}. */
export interface EnvironmentServerOptions {
  /** The sessions to serve. The server does not close the host. */
  readonly host: SessionHost;
  /** The port. 0, the default, chooses a free one. */
  readonly port?: number;
  /** The address to listen on. `127.0.0.1` by default, which only programs on this machine reach. */
  readonly hostname?: string;
  /**
   * The token that clients send as `Authorization: Bearer` or `X-API-Key`. If undefined, every client on this machine is
   * served. An empty or blank token is an error.
   */
  readonly token?: string;
  /** The certificate and its key in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The maximum size of a message of a client in bytes. 16 MiB by default, as in OpenEnv's servers. */
  readonly maxMessageBytes?: number;
  /**
   * The time in milliseconds between signs of life of a connection. 20 seconds by default. A client that gives none or
   * reads nothing in this time is disconnected. So is one that needs three times as long for the headers of a request,
   * or fifteen times as long for the whole request.
   */
  readonly heartbeatMs?: number;
  /** The version that `/openapi.json` states. */
  readonly version?: string;
}

/** A running server of environments. */
export interface EnvironmentServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly port: number;
  /** Ends the server and its connections. A second call has no effect. */
  close(): Promise<void>;
}

/**
 * Serves environments by OpenEnv's protocol (version 0.10): a WebSocket for each episode at `/ws`, the HTTP routes, the
 * Task API and tools by MCP. Also serves them by the Open Reward Standard (ORS), and has `/health`, `/ready` and `/metrics`. The first environment is at the root, and each one
 * is under its name. Throws `config.invalid` if the port is in use, for a blank token, and for an address that other
 * machines reach without a token.
 *
 * @example
 * import { numberGuessingEnvironment } from "lyceum/environments";
 * import { createSessionHost, localRunner, remoteEnvironment, serveEnvironments } from "lyceum/server";
 * const runner = await localRunner([{ name: "guess", definition: numberGuessingEnvironment() }]);
 * await using host = createSessionHost(runner);
 * await using server = await serveEnvironments({ host });
 * const remote = await remoteEnvironment(server.url);
 * remote.spec.id; // => "number-guessing"
 */
export async function serveEnvironments(options: EnvironmentServerOptions): Promise<EnvironmentServer> {
  const { host, port = 0, hostname = "127.0.0.1", token, tls, maxMessageBytes = defaultMaxMessageBytes } = options;
  const { heartbeatMs = 20_000 } = options;
  checkToken(token, { hostname });
  const local = isLoopback(hostname);
  const metrics = serverMetrics(host);
  const { app, endpointOf } = environmentApp({ host, metrics, version: options.version ?? "0.0.0", maxMessageBytes });
  const handle = getRequestListener(app.fetch);

  /** Returns the status of a refused request. Undefined if it is allowed. */
  const refusal = (request: IncomingMessage): 401 | 403 | undefined => {
    const path = request.url?.split("?")[0];
    const foreign = local && token === undefined ? foreignRequest(request) : undefined;
    if (foreign !== undefined) {
      metrics.refused(foreign);
      return 403;
    }
    if (path === "/health" || path === "/ready" || token === undefined) return undefined;
    if (sameSecret(token, tokenOf(request))) return undefined;
    metrics.refused("token");
    return 401;
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): unknown => {
    const status = refusal(request);
    if (status === undefined) return handle(request, response);
    // The rest of a refused request is not read.
    response.writeHead(status, { "content-type": "application/json", connection: "close" });
    return response.end(JSON.stringify({ detail: refusalText[status] }));
  };
  const limits = {
    headersTimeout: 3 * heartbeatMs,
    requestTimeout: 15 * heartbeatMs,
    connectionsCheckingInterval: heartbeatMs,
  };
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): unknown => {
    const status = refusal(request);
    if (status !== undefined) return refuseUpgrade(socket, status);
    const target = socketTarget(request.url ?? "", endpointOf);
    if (target === undefined) return refuseUpgrade(socket, 404);
    sockets.handleUpgrade(request, socket, head, (client: WebSocket) => {
      sockets.emit("connection", client, request);
      const { endpoint, kind, sessionId } = target;
      serveSocket(client, {
        host,
        kind,
        rpc: endpoint.rpc,
        keepsSession: sessionId !== undefined,
        open: async (signal) => (sessionId === undefined ? endpoint.open(signal) : endpoint.attach(sessionId, signal)),
        onAnswer: ({ type, ms, failed }) => metrics.answered({ kind: `ws-${type}`, ms, failed }),
      });
    });
  };
  const server = createHttpServer({ request: onRequest, upgrade: onUpgrade, tls, limits });
  server.keepAliveTimeout = keepAliveMs;
  endSlowReaders(server, heartbeatMs);
  const heartbeat = watchConnections(sockets, heartbeatMs);
  const address = await listen(server, { hostname, port });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= new Promise((resolve) => {
      clearInterval(heartbeat);
      for (const client of sockets.clients) client.terminate();
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
  return {
    url: `${tls === undefined ? "http" : "https"}://${address.authority}`,
    port: address.port,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the token of a request: as `Authorization: Bearer`, or as `X-API-Key`, as ORS's client sends it. */
function tokenOf({ headers }: IncomingMessage): string {
  const key = headers["x-api-key"];
  return bearerToken(headers.authorization) || (typeof key === "string" ? key : "");
}

const refusalText = {
  401: "The request has no valid token. Send it as Authorization: Bearer.",
  403: "This server answers only programs on its own machine. Start it with a token to serve others.",
} as const;

function refuseUpgrade(socket: Duplex, status: 401 | 403 | 404): void {
  const reason = { 401: "Unauthorized", 403: "Forbidden", 404: "Not Found" }[status];
  // Only the write side would end otherwise, and a client that stays would keep the connection.
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

/** Returns what a WebSocket connects to: `/ws` or `/mcp`, of the first environment or of a named one. */
function socketTarget(url: string, endpointOf: ReturnType<typeof environmentApp>["endpointOf"]) {
  const [path = "", query] = url.split("?");
  const match = /^(?:\/([^/]+))?\/(ws|mcp)$/.exec(path);
  const endpoint = match === null ? undefined : endpointOf(match[1] && decoded(match[1]));
  if (match === null || endpoint === undefined) return undefined;
  const kind = match[2] === "ws" ? ("messages" as const) : ("rpc" as const);
  return { endpoint, kind, sessionId: new URLSearchParams(query).get("session_id") ?? undefined };
}

/** Decodes a part of a path. Returns a malformed part unchanged. No environment has its name. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
