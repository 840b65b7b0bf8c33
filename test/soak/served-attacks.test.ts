import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { EnvironmentService } from "../../server/grpc/generated/lyceum/v1/environment_pb.ts";
import { message, RawClient } from "../server/openenv/raw-client.ts";
import { healthySession } from "./healthy-session.ts";
import { largestDuring, servedEnvironment, serveProcess } from "./served-process.ts";

const hundredMb = 100_000_000;

/** Sends a text and returns the status of the answer. */
async function rawStatus(port: number, text: string): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(Buffer.from(text, "latin1"));
  const answer = await Promise.race([
    once(socket, "data"),
    once(socket, "close").then(() => [""]),
    pause(10_000, [""]),
  ]);
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(answer[0]))?.[1]);
}

/** Starts a gRPC call with a message and returns the status of the answer. The message can be longer than its body. */
async function callStatus(
  url: string,
  { compressed, length, body }: { readonly compressed: boolean; readonly length: number; readonly body: Buffer },
): Promise<number> {
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(length, 1);
  const session = connectHttp2(url);
  const call = session.request({
    ...{ ":method": "POST", ":path": "/lyceum.v1.EnvironmentService/Reset", te: "trailers" },
    ...{ "content-type": "application/grpc+proto", ...(compressed ? { "grpc-encoding": "gzip" } : {}) },
  });
  call.write(Buffer.concat([head, body]));
  if (length === body.length) call.end();
  call.on("error", () => {});
  const status = await new Promise<number>((resolve) => {
    for (const event of ["response", "trailers"] as const) {
      call.on(event, (headers) => {
        if (headers["grpc-status"] !== undefined) resolve(Number(headers["grpc-status"]));
      });
    }
    call.resume().on("close", () => resolve(Number.NaN));
  });
  session.destroy();
  return status;
}

/** Returns the status of an upgrade to a WebSocket. 101 if it is accepted. */
function upgradeStatus(url: string, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(url.replace("http", "ws"), { headers });
  return new Promise((resolve) => {
    socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode ?? 0));
    socket.on("open", () => resolve(101));
    socket.on("error", () => {});
  }).then((status) => {
    socket.terminate();
    return status as number;
  });
}

test("messages of 100 MB are refused early, by every protocol", async () => {
  await using served = await serveProcess(["--workers", "1"]);
  await using healthy = await healthySession(served.url);
  const before = served.rssMb();
  const text = Buffer.alloc(hundredMb, " ");
  const attack = async (): Promise<void> => {
    for (const pieces of [1, 100]) {
      const client = await RawClient.connect(`${served.url}/ws`);
      expect(client.socket.extensions).toBe("");
      const piece = text.subarray(0, hundredMb / pieces);
      for (let index = 0; index < pieces; index++) client.socket.send(piece, { fin: index === pieces - 1 }, () => {});
      expect(await client.closed).toBe(1009);
    }
    const head = `POST /reset HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n`;
    expect(await rawStatus(served.port, `${head}Content-Length: ${hundredMb}\r\n\r\n{`)).toBe(413);
    const chunks = `${(20 * 2 ** 20).toString(16)}\r\n${" ".repeat(20 * 2 ** 20)}\r\n`;
    expect(await rawStatus(served.port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`)).toBe(413);
    const bomb = gzipSync(Buffer.alloc(hundredMb));
    expect(await callStatus(served.grpcUrl, { compressed: true, length: bomb.length, body: bomb })).toBe(
      Code.ResourceExhausted,
    );
    const part = text.subarray(0, 1_000);
    expect(await callStatus(served.grpcUrl, { compressed: false, length: hundredMb, body: part })).toBe(
      Code.ResourceExhausted,
    );
  };
  const { largest } = await largestDuring(served.rssMb, attack());
  console.log({ before, largest });
  expect(largest - before).toBeLessThan(200);
  expect(await healthy.steps()).toBeGreaterThan(0);
});

test("no wrong token gets in, and none shows whether a session exists", async () => {
  const token = "tok".repeat(20);
  await using served = await serveProcess(["--workers", "1"], { token });
  const right = { authorization: `Bearer ${token}` };
  const created = await fetch(`${served.url}/mcp`, {
    method: "POST",
    headers: right,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "openenv/session/create" }),
  });
  const { result } = (await created.json()) as { result: { session_id: string } };
  expect(result.session_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const wrong = [
    ...["", "Bearer", "Bearer ", `Bearer ${token}x`, `Bearer ${token.slice(0, -1)}`, `Bearer ${token.toUpperCase()}`],
    ...[
      `Basic ${token}`,
      token,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer \u00e9\u00ff`,
      `Bearer ${"x".repeat(8_000)}`,
    ],
  ];
  const unknown = "00000000-0000-4000-8000-000000000000";
  for (const authorization of wrong) {
    const bodies = [];
    for (const id of [result.session_id, unknown]) {
      const response = await fetch(`${served.url}/state?session_id=${id}`, { headers: { authorization } });
      bodies.push([response.status, await response.text()]);
      expect(await upgradeStatus(`${served.url}/ws?session_id=${id}`, { authorization })).toBe(401);
    }
    expect(bodies[0]).toEqual(bodies[1]);
    expect(bodies[0]![0]).toBe(401);
    const interceptors = [
      (next: (request: never) => Promise<never>) => (request: { readonly header: Headers }) => {
        request.header.set("authorization", authorization);
        return next(request as never);
      },
    ];
    const transport = createGrpcTransport({ baseUrl: served.grpcUrl, interceptors: interceptors as never });
    const client = createClient(EnvironmentService, transport);
    for (const sessionId of [result.session_id, unknown]) {
      await expect(client.getState({ sessionId })).rejects.toMatchObject({ code: Code.Unauthenticated });
    }
  }
  const head = `Host: 127.0.0.1:${served.port}\r\n`;
  const good = `Authorization: Bearer ${token}\r\n`;
  expect(await rawStatus(served.port, `GET /state?token=${token} HTTP/1.1\r\n${head}\r\n`)).toBe(401);
  expect(await rawStatus(served.port, `GET /metadata HTTP/1.1\r\n${head}Authorization: x\r\n${good}\r\n`)).toBe(401);
  expect(
    await rawStatus(served.port, `GET /state HTTP/1.1\r\n${head}Authorization: ${"x".repeat(100_000)}\r\n\r\n`),
  ).toBe(431);
  expect(await rawStatus(served.port, `GET /metadata HTTP/1.1\r\n${head}${good}\r\n`)).toBe(200);
  expect((await fetch(`${served.url}/health`)).status).toBe(200);
  for (const path of ["/metrics", "/openapi.json", "/list_environments", "/health/../metrics", "/counting/health"]) {
    expect((await fetch(served.url + path)).status).toBe(401);
  }
});

test("guessed and foreign sessions, names and pages of other sites get nothing", async () => {
  await using served = await serveProcess(["--workers", "1", "-e", `${servedEnvironment},number-guessing`]);
  const post = async (path: string, body: unknown) => {
    const response = await fetch(served.url + path, { method: "POST", body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const rpc = async (path: string, method: string, params: unknown = {}) =>
    (await post(path, { jsonrpc: "2.0", id: 1, method, params })).body as Record<string, never>;
  const own = (await rpc("/counting/mcp", "openenv/session/create")) as { result?: { session_id: string } };
  const id = own.result!.session_id;
  for (const path of ["/number-guessing/mcp"]) {
    for (const method of ["openenv/session/close", "tools/list"]) {
      const { error } = await rpc(path, method, { session_id: id });
      expect(error).toMatchObject({ data: { code: "server.unknown-session" } });
    }
  }
  for (const guess of ["1", "", "__proto__", "constructor", `${id}x`, id.toUpperCase(), `../${id}`, "\u0000"]) {
    const { status } = await post(`/counting/step?session_id=${encodeURIComponent(guess)}`, { action: { text: "a" } });
    expect([guess, status]).toEqual([guess, 404]);
  }
  await using first = await RawClient.connect(`${served.url}/counting/ws?session_id=${id}`);
  await first.send(message("reset", {}));
  await using second = await RawClient.connect(`${served.url}/counting/ws?session_id=${id}`);
  expect((await second.answer(0)).data.error.message).toBe("Another connection uses this session.");
  expect((await first.send(message("step", { text: "a" }))).data.observation.text).toBe("1");

  for (const path of ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd/metadata", "/__proto__/metadata"]) {
    expect(await rawStatus(served.port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n\r\n`)).toBe(404);
  }
  for (const split of ["../../etc/passwd", "__proto__", "/etc/passwd", "train/../test"]) {
    expect((await post("/counting/tasks", { split })).status).toBe(400);
    expect((await post("/counting/reset", { split })).status).toBeLessThan(500);
  }

  const hosts = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost@evil.example",
    "localhost.evil:80",
    "",
    "LOCALHOST.",
    "0.0.0.0",
  ];
  for (const host of hosts) {
    for (const path of ["/metadata", "/health", "/state"]) {
      expect(await rawStatus(served.port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toBe(403);
    }
    if (host !== "") expect(await upgradeStatus(`${served.url}/counting/ws`, { host })).toBe(403);
  }
  for (const origin of ["http://evil.example", "null", `http://127.0.0.1:${served.port}.evil`, "http://localhost:1"]) {
    expect(await upgradeStatus(`${served.url}/counting/ws`, { origin })).toBe(403);
    const response = await fetch(`${served.url}/reset`, { method: "POST", headers: { origin } });
    expect(response.status).toBe(403);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  }
});
