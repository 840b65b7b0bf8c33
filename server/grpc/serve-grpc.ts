import type { ServerHttp2Session } from "node:http2";
import { aborted } from "../../src/core/concurrency/aborted.ts";
import { createHttp2Server } from "../../src/core/network/create-server.ts";
import { listen } from "../../src/core/network/listen.ts";
import { checkToken } from "../http/check-token.ts";
import { type GrpcServices, grpcHandler } from "./grpc-handler.ts";

/** The number of calls of one connection that run at a time. A client queues further ones. */
const maxConcurrentStreams = 1_024;

/** The options of {@link serveGrpc}. */
export interface GrpcServerOptions extends GrpcServices {
  /** The port. 0, the default, chooses a free one. */
  readonly port?: number;
  /** The address to listen on. `127.0.0.1` by default. */
  readonly hostname?: string;
  /** The certificate and its key in PEM. Without them, the server speaks HTTP/2 without encryption. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /**
   * The time in milliseconds between signs of life of a connection. 20 seconds by default. A client that gives none is
   * disconnected.
   */
  readonly heartbeatMs?: number;
}

/** A running gRPC server. */
export interface GrpcServer extends AsyncDisposable {
  /** The address for clients, such as `grpc://127.0.0.1:50051`. */
  readonly url: string;
  readonly port: number;
  /**
   * Accepts no further calls, and resolves when the running ones have ended or the signal aborts. The health service says
   * that the server does not serve. Call it after the session host's `drain`, because sessions end by calls.
   */
  drain(options: { readonly signal: AbortSignal }): Promise<void>;
  /** Ends the server and its connections. The session host stays open. A second call has no effect. */
  close(): Promise<void>;
}

/**
 * Serves environments and policies by gRPC (`lyceum.v1.EnvironmentService`, `lyceum.v1.ModelService` and
 * `grpc.health.v1.Health`), with reflection. Throws `config.invalid` if the port is in use, for a blank token, and for an
 * address that other machines reach without a token.
 */
export async function serveGrpc(options: GrpcServerOptions): Promise<GrpcServer> {
  const { port = 0, hostname = "127.0.0.1", token, tls, heartbeatMs = 20_000 } = options;
  checkToken(token, { hostname });
  const draining = new AbortController();
  const request = grpcHandler({ ...options, draining: draining.signal });
  const server = createHttp2Server({ request, tls, settings: { maxConcurrentStreams } });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const heartbeat = watchHttp2(sessions, heartbeatMs);
  const address = await listen(server, { hostname, port });
  let ended: Promise<void> | undefined;
  const endConnections = (end: (session: ServerHttp2Session) => void): Promise<void> => {
    ended ??= new Promise<void>((resolve) => server.close(() => resolve())).finally(() => clearInterval(heartbeat));
    for (const session of sessions) end(session);
    return ended;
  };
  const drain: GrpcServer["drain"] = async ({ signal }) => {
    draining.abort();
    await Promise.race([endConnections((session) => session.close()), aborted(signal)]);
  };
  const close = (): Promise<void> => endConnections((session) => session.destroy());
  return {
    url: `${tls === undefined ? "grpc" : "grpcs"}://${address.authority}`,
    port: address.port,
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Sends each connection a ping every `ms` milliseconds, and ends those that have not answered the last one. Otherwise a
 * half-open connection, and one that never speaks HTTP/2, would never end.
 */
function watchHttp2(sessions: ReadonlySet<ServerHttp2Session>, ms: number): NodeJS.Timeout {
  const unanswered = new WeakSet<ServerHttp2Session>();
  const look = (): void => {
    for (const session of sessions) {
      if (session.destroyed) continue;
      if (unanswered.has(session)) {
        session.destroy();
        continue;
      }
      unanswered.add(session);
      session.ping((error) => error === null && unanswered.delete(session));
    }
  };
  // Answers that arrived while this thread was busy are read first.
  const timer = setInterval(() => setImmediate(look), ms);
  timer.unref();
  return timer;
}
