import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { EnvironmentService } from "../../server/grpc/generated/lyceum/v1/environment_pb.ts";
import { message, RawClient } from "../server/openenv/raw-client.ts";
import { type ServedProcess, serveProcess, untilBelow } from "./served-process.ts";

/** Plays a session over a WebSocket. One of three ends by `close`, one by its connection, one in the middle of a step. */
async function playSocket(served: ServedProcess, index: number): Promise<void> {
  const client = await RawClient.connect(`${served.url}/ws`);
  expect((await client.send(message("reset", { index: index % 3 }))).type).toBe("observation");
  expect((await client.send(message("step", { text: "hello" }))).data.observation.text).toBe("1");
  if (index % 3 === 0) {
    client.socket.send(message("close"));
    expect(await client.closed).toBe(1000);
    return;
  }
  if (index % 3 === 1) client.socket.send(message("step", { text: "wait" }));
  client.socket.terminate();
}

async function post(url: string, body: unknown): Promise<{ readonly [key: string]: unknown }> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as { readonly [key: string]: unknown };
}

/** Plays a session over HTTP and MCP. One of two is closed, the other is left to its time limit. */
async function playHttp(served: ServedProcess, index: number): Promise<void> {
  const rpc = (method: string, params: unknown) => post(`${served.url}/mcp`, { jsonrpc: "2.0", id: 1, method, params });
  const { result } = await rpc("openenv/session/create", {});
  const { session_id } = result as { session_id: string };
  const url = `?session_id=${session_id}`;
  await post(`${served.url}/reset${url}`, {});
  const { observation } = await post(`${served.url}/step${url}`, { action: { text: "hello" } });
  expect(observation).toMatchObject({ text: "1" });
  if (index % 2 === 0) await rpc("openenv/session/close", { session_id });
}

/** Plays a session over gRPC. One of two is closed, the other is left to its time limit. */
function grpcPlayer(served: ServedProcess): (index: number) => Promise<void> {
  const client = createClient(EnvironmentService, createGrpcTransport({ baseUrl: served.grpcUrl }));
  const part = { part: { case: "text" as const, value: "hello" } };
  return async (index) => {
    const { sessionId } = await client.reset({ index: BigInt(index % 3) });
    const actions = { agent: { message: { role: "assistant", content: [part] } } };
    expect(Object.keys((await client.step({ sessionId, actions })).observations)).toEqual(["agent"]);
    if (index % 2 === 0) await client.close({ sessionId });
  };
}

/** The resources of the server after a thousand sessions, memory in megabytes. */
interface Round {
  readonly heap: number;
  readonly rss: number;
  readonly files: number;
  readonly sessions: number;
  readonly workerSessions: number;
}

async function times(count: number, parallel: number, one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: parallel }, run));
}

test("10,000 sessions by all protocols leave no memory, file or session behind", async () => {
  await using served = await serveProcess([
    ...["--workers", "2", "--idle-timeout", "2", "--max-sessions", "2000", "--heartbeat", "5"],
  ]);
  const playGrpc = grpcPlayer(served);
  const round = async (): Promise<Round> => {
    await Promise.all([
      times(400, 8, (index) => playSocket(served, index)),
      times(300, 4, (index) => playHttp(served, index)),
      times(300, 4, playGrpc),
    ]);
    const sessions = await untilBelow(() => served.metric("lyceum_sessions"), 0);
    const workerSessions = await untilBelow(() => served.metric("lyceum_worker_sessions"), 0);
    return { heap: await served.heapMb(), rss: served.rssMb(), files: served.files(), sessions, workerSessions };
  };
  const rounds = [];
  for (let index = 0; index < 10; index++) rounds.push(await round());
  // Connections that clients keep open for later requests are no leak.
  await pause(6_000);
  const end = { heap: await served.heapMb(), files: served.files() };
  console.log(rounds, end);
  for (const { sessions, workerSessions } of rounds) expect([sessions, workerSessions]).toEqual([0, 0]);
  expect(await served.metric("lyceum_workers")).toBe(2);
  expect(await served.metric("lyceum_workers_replaced")).toBe(0);
  expect(end.files).toBeLessThanOrEqual(rounds[0]!.files + 2);
  // 0.3 kB for each session. A leaked session would be several times as large.
  expect(end.heap).toBeLessThan(rounds[1]!.heap + 8 * 0.3);
  expect(served.errors()).toBe("");
});
