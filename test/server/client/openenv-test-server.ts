import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import type { Action, AgentId } from "../../../src/contract/action.ts";
import { toErrorData } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";
import { textOf } from "../../../src/contract/message.ts";
import type { HostedSession, SessionHost } from "../../../src/server/session/session-host.ts";

/** A small OpenEnv server with Lyceum's fields, for tests of the client. */
export interface OpenEnvTestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends all connections without a word. */
  kill(): Promise<void>;
}

/** Serves the first environment of a host. `token` is required of all requests. */
export async function openEnvTestServer(
  host: SessionHost,
  { port = 0, token }: { readonly port?: number; readonly token?: string } = {},
): Promise<OpenEnvTestServer> {
  const [environment] = host.runner.environments;
  const { name, spec, splits, scoresGroups } = environment!;
  const allowed = ({ headers }: IncomingMessage): boolean =>
    token === undefined || headers.authorization === `Bearer ${token}`;
  const answer = async (path: string, body: string): Promise<Json | undefined> => {
    if (path === "/metadata") {
      return {
        name,
        description: spec.description ?? "",
        lyceum: JSON.parse(JSON.stringify({ spec, splits, scoresGroups })) as Json,
      };
    }
    if (path !== `/${name}/task_range`) return undefined;
    const { split, start, stop } = JSON.parse(body) as { split: string; start: number; stop: number };
    return { tasks: (await host.runner.tasks({ environment: name, split, start, stop })) as unknown as Json };
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const found = allowed(request) ? await answer(request.url ?? "", body) : undefined;
    response.writeHead(allowed(request) ? (found === undefined ? 404 : 200) : 401, {
      "content-type": "application/json",
    });
    response.end(JSON.stringify(found ?? {}));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (!allowed(request)) {
      socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      let session: Promise<HostedSession> | undefined;
      const send = (message: Json): void => client.send(JSON.stringify(message));
      client.on("error", () => {});
      client.on("close", () => void session?.then((open) => open.close()).catch(() => {}));
      client.on("message", async (raw) => {
        const { type, data } = JSON.parse(String(raw)) as { type: string; data: never };
        if (type === "close") return client.close();
        try {
          session ??= host.open({ environment: name });
          const open = await session;
          send(type === "reset" ? await reset(open, data) : type === "step" ? await step(open, data) : {});
        } catch (error) {
          const found = toErrorData(error);
          session = found.code === "server.capacity" ? undefined : session;
          send({ type: "error", data: { message: found.message, code: "EXECUTION_ERROR", error: found as never } });
        }
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const kill = async (): Promise<void> => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const address = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, port: address.port, kill, [Symbol.asyncDispose]: kill };
}

async function reset(
  session: HostedSession,
  options: { seed?: number; split?: string; index?: number; episode_id?: string },
): Promise<Json> {
  const { episode_id: episodeId, ...rest } = options;
  const { taskId, episodeId: episode, ...started } = await session.reset({ ...rest, episodeId });
  const text = Object.values(started.observations).flatMap(({ messages }) => messages.map(textOf));
  const observation = { text: text.join("\n\n"), ...started, task_id: taskId, episode_id: episode };
  return { type: "observation", data: { observation: observation as never, reward: null, done: false } };
}

async function step(
  session: HostedSession,
  data: { step_id?: string; metadata: { lyceum_actions: Record<AgentId, Action> } },
): Promise<Json> {
  const { done, ...result } = await session.step({ actions: data.metadata.lyceum_actions, stepId: data.step_id });
  return { type: "observation", data: { observation: { text: "", ...result } as never, reward: 0, done } };
}
