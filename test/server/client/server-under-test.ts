import { serveGrpc } from "../../../server/grpc/serve-grpc.ts";
import { serveEnvironments } from "../../../server/http/serve-environments.ts";
import { localRunner } from "../../../server/session/local-runner.ts";
import { createSessionHost, type SessionHost, type SessionLimits } from "../../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";

/** The protocols of remote environments. */
export type Protocol = "openenv" | "grpc";

/** A server of one environment that a test can end and start again on the same port. */
export interface ServerUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly host: SessionHost;
  /** Ends all connections. The sessions end too, unless they are kept for the next start. */
  stop(options?: { readonly keepSessions?: boolean }): Promise<void>;
  /** Starts again on the same port. */
  start(): Promise<void>;
}

/** Serves an environment over a protocol. */
export async function serveUnderTest(
  definition: EnvironmentDefinition,
  { protocol, token, ...limits }: SessionLimits & { readonly protocol: Protocol; readonly token?: string },
): Promise<ServerUnderTest> {
  const newHost = async (): Promise<SessionHost> =>
    createSessionHost(await localRunner([{ name: "served", definition }]), limits);
  let host = await newHost();
  let port = 0;
  const listen = () =>
    protocol === "grpc" ? serveGrpc({ host, port, token }) : serveEnvironments({ host, port, token });
  let server = await listen();
  port = server.port;
  let isEnded = false;
  const stop: ServerUnderTest["stop"] = async ({ keepSessions = false } = {}) => {
    isEnded = true;
    await server[Symbol.asyncDispose]();
    if (keepSessions) return;
    await host.close();
    host = await newHost();
  };
  return {
    url: server.url,
    port,
    get host() {
      return host;
    },
    stop,
    start: async () => {
      server = await listen();
      isEnded = false;
    },
    [Symbol.asyncDispose]: async () => {
      if (!isEnded) await server[Symbol.asyncDispose]();
      await host.close();
    },
  };
}
