import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import {
  createServer as createPlainHttp2Server,
  createSecureServer as createSecureHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Settings,
} from "node:http2";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { contained, containedHandler, hasAddress, type RequestHandler } from "./contained-handler.ts";

/** A certificate and its key in PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

const badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** The options of {@link createHttpServer}. */
export interface HttpServerOptions {
  readonly request: RequestHandler<IncomingMessage, ServerResponse>;
  /** Answers upgrades to a WebSocket. Without it, they are requests. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown;
  readonly tls?: Tls | undefined;
  readonly limits?: Pick<ServerOptions, "headersTimeout" | "requestTimeout" | "connectionsCheckingInterval">;
}

/**
 * Creates a server of HTTP/1.1, or of HTTPS with `tls`. All servers of this package are created here: no error of a
 * handler ends the process. See {@link containedHandler}.
 */
export function createHttpServer({ request, upgrade, tls, limits = {} }: HttpServerOptions): Server {
  const server = tls === undefined ? createServer(limits) : createSecureServer({ ...limits, ...tls });
  server.on("request", containedHandler(request));
  if (upgrade !== undefined) {
    server.on("upgrade", (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      void contained({
        run: () => (hasAddress(asked) ? upgrade(asked, socket, head) : socket.end(badRequest)),
        isGone: () => socket.destroyed,
        fail: () => socket.destroy(),
      });
    });
  }
  return server;
}

/** Creates a server of HTTP/2, without encryption unless `tls` is given. As safe as {@link createHttpServer}. */
export function createHttp2Server(options: {
  readonly request: RequestHandler<Http2ServerRequest, Http2ServerResponse>;
  readonly tls?: Tls | undefined;
  readonly settings: Settings;
}): Http2Server {
  const { request, tls, settings } = options;
  const server =
    tls === undefined ? createPlainHttp2Server({ settings }) : createSecureHttp2Server({ settings, ...tls });
  server.on("request", containedHandler(request));
  // A broken connection is the client's matter.
  server.on("session", (session) => session.on("error", () => {}));
  return server;
}
