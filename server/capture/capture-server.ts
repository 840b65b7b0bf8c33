import { once } from "node:events";
import type { Policy } from "../../src/contract/policy.ts";
import { createHttpServer } from "../../src/core/network/create-server.ts";
import { listen } from "../../src/core/network/listen.ts";
import { checkToken } from "../http/check-token.ts";
import { createCaptureRoutes } from "./capture-routes.ts";
import type { CaptureSession, CaptureSessionOptions } from "./capture-session.ts";
import { SessionTable } from "./session-table.ts";

/** The time in milliseconds that an unused connection stays open. */
const keepAliveMs = 120_000;

/** The options of {@link captureServer}. */
export interface CaptureServerOptions {
  /** A free port by default. */
  readonly port?: number;
  /** The address to listen on. `127.0.0.1` by default, which only programs on this machine reach. */
  readonly host?: string;
  /** The key of the admin routes. Without one they are closed. An empty or blank key is an error. */
  readonly adminKey?: string;
  /** Answers the calls of sessions that are opened by HTTP. Without one, only a program can open sessions. */
  readonly policy?: Policy;
  /** The settings of sessions that are opened by HTTP. */
  readonly defaults?: Pick<CaptureSessionOptions, "sampling" | "maxModelCalls">;
  /** The maximum number of open sessions. 4,096 by default. */
  readonly maxSessions?: number;
  /** The maximum number of running calls of one session. 64 by default. */
  readonly maxParallelCalls?: number;
  /**
   * The time in milliseconds without a call after which a session that was opened by HTTP may be closed. One hour by
   * default.
   */
  readonly idleMs?: number;
  /** The maximum size of a request in bytes. 32 MiB by default. */
  readonly maxBodyBytes?: number;
}

/** A running server. Disposal closes its sessions and the server. */
export interface CaptureServer extends AsyncDisposable {
  /** The address, such as `http://127.0.0.1:8000`. Clients of OpenAI's protocols need `/v1` after it. */
  readonly url: string;
  readonly port: number;
  /** Opens a session. Throws `config.invalid` for a wrong or used id, and `server.capacity`. */
  open(options: CaptureSessionOptions): CaptureSession;
  close(): Promise<void>;
}

/**
 * Starts a server that answers model calls by policies and records them. A client is any program that calls a model:
 * its base URL is the server's address, and its API key is the id of a session. The server speaks OpenAI's protocols
 * (`/v1/chat/completions`, `/v1/responses`) and Anthropic's (`/v1/messages`).
 *
 * A call whose messages begin with those of an earlier call and its answer continues that call: the policy gets its
 * tokens as `previous`, so that sampled ids are extended and never encoded again. If a client sends back an altered
 * answer, the call begins a new branch.
 *
 * On a loopback address, a request with neither a key of the server nor the name of this machine as its host is refused,
 * so that pages of other sites cannot use the server. Throws `config.invalid` if the port is in use, and for a blank admin
 * key.
 *
 * @example
 * import { scriptedPolicy } from "lyceum";
 * import { captureServer } from "lyceum/server";
 * await using server = await captureServer();
 * await using session = server.open({ policy: scriptedPolicy(["Hello."]) });
 * await fetch(`${server.url}/v1/chat/completions`, {
 *   method: "POST",
 *   headers: { authorization: `Bearer ${session.id}` },
 *   body: JSON.stringify({ model: "any", messages: [{ role: "user", content: "Hi" }] }),
 * });
 * session.calls().length; // => 1
 */
export async function captureServer(options: CaptureServerOptions = {}): Promise<CaptureServer> {
  const { port = 0, host = "127.0.0.1", adminKey } = options;
  checkToken(adminKey, { name: "admin key" });
  const sessions = new SessionTable(options);
  const server = createHttpServer({ request: createCaptureRoutes(sessions, { ...options, host }) });
  // An agent often works for longer than Node's five seconds between two calls of its open connection.
  server.keepAliveTimeout = keepAliveMs;
  const address = await listen(server, { hostname: host, port });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= (async () => {
      await sessions.close();
      const ended = once(server, "close");
      server.close();
      server.closeAllConnections();
      await ended;
    })();
    return closed;
  };
  return {
    url: `http://${address.authority}`,
    port: address.port,
    open: (session) => sessions.open(session),
    close,
    [Symbol.asyncDispose]: close,
  };
}
