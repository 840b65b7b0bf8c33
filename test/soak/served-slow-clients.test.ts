import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { StreamStepRequestSchema } from "../../server/grpc/generated/lyceum/v1/environment_pb.ts";
import { message, RawClient } from "../server/openenv/raw-client.ts";
import { type HealthySession, healthySession } from "./healthy-session.ts";
import { largestDuring, type ServedProcess, serveProcess, untilBelow } from "./served-process.ts";

/*
 * Clients that read, write or live too slowly. A server with a heartbeat of two seconds ends each of them, frees its
 * session, and serves a healthy client meanwhile.
 */

let served: ServedProcess;
let healthy: HealthySession;
let before: { readonly files: number; readonly rss: number };

beforeAll(async () => {
  served = await serveProcess(["--heartbeat", "2", "--workers", "1", "--max-sessions", "500"]);
  await using warm = await RawClient.connect(`${served.url}/ws`);
  await warm.send(message("reset", {}));
  for (let index = 0; index < 20; index++) await warm.send(message("step", { text: "big 1000000" }));
});
afterAll(() => served?.[Symbol.asyncDispose]());

beforeEach(async () => {
  healthy = await healthySession(served.url);
  before = { files: served.files(), rss: served.rssMb() };
});

afterEach(async ({ task }) => {
  const files = await untilBelow(served.files, before.files, 10_000);
  const sessions = await untilBelow(() => served.metric("lyceum_sessions"), 1, 10_000);
  const steps = await healthy.steps();
  await healthy[Symbol.asyncDispose]();
  console.log(task.name, { before, files, sessions, steps, rss: served.rssMb() });
  expect(sessions).toBe(1);
  expect(files).toBeLessThanOrEqual(before.files + 2);
  expect(served.child.exitCode).toBeNull();
});

/** Checks that the server ends all connections within a time, and that its memory grows by less than a limit. */
async function allEnded({ ms, mb }: { readonly ms: number; readonly mb: number }): Promise<void> {
  const { largest, result } = await largestDuring(served.rssMb, untilBelow(served.files, before.files, ms));
  console.log({ grownMb: largest - before.rss });
  expect(result).toBeLessThanOrEqual(before.files);
  expect(largest - before.rss).toBeLessThan(mb);
}

async function rawSockets(count: number, port: number, text: string): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => {});
      await once(socket, "connect");
      if (text !== "") socket.write(text);
      return socket;
    }),
  );
}

const upgrade = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/** A frame of a client with a mask of zeros. */
function frame(opcode: number, payload: Buffer): Buffer {
  const head = payload.length < 126 ? [payload.length | 128] : [126 | 128, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from([128 | opcode, ...head, 0, 0, 0, 0]), payload]);
}

/** Writes a piece again and again until the server ends the connection or the time is over. */
async function flood(
  socket: Pick<Socket, "destroyed" | "write" | "writableLength">,
  piece: Buffer,
  ms: number,
): Promise<void> {
  const end = performance.now() + ms;
  while (!socket.destroyed && performance.now() < end) {
    if (socket.writableLength < 10 * piece.length) socket.write(piece);
    await pause(1);
  }
}

test("WebSockets that ask for large observations and never read", async () => {
  const clients = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const client = await RawClient.connect(`${served.url}/ws`);
      await client.send(message("reset", {}));
      client.socket.pause();
      for (let index = 0; index < 60; index++) client.socket.send(message("step", { text: "big 1000000" }));
      return client.socket;
    }),
  );
  await allEnded({ ms: 15_000, mb: 500 });
  for (const socket of clients) socket.terminate();
});

test("a WebSocket that never reads but sends pongs", async () => {
  const client = await RawClient.connect(`${served.url}/ws`);
  await client.send(message("reset", {}));
  client.socket.pause();
  for (let index = 0; index < 60; index++) client.socket.send(message("step", { text: "big 1000000" }));
  const timer = setInterval(() => client.socket.pong(), 100);
  await allEnded({ ms: 15_000, mb: 100 });
  clearInterval(timer);
  client.socket.terminate();
});

test("WebSockets that send pings without reading", async () => {
  const sockets = await rawSockets(5, served.port, upgrade("/ws"));
  const pings = Buffer.concat(Array(2_000).fill(frame(9, Buffer.alloc(125, "p"))));
  await Promise.all(sockets.map((socket) => flood(socket, pings, 15_000)));
  await allEnded({ ms: 15_000, mb: 100 });
});

test("WebSockets that go on sending after they were refused", async () => {
  const sockets = await rawSockets(5, served.port, upgrade("/ws"));
  await expect.poll(served.files).toBeGreaterThanOrEqual(before.files + 5);
  const states = Buffer.concat(Array(20_000).fill(frame(1, Buffer.from("{}"))));
  const flooding = Promise.all(sockets.map((socket) => flood(socket.resume(), states, 5_000)));
  const { largest } = await largestDuring(served.rssMb, flooding);
  expect(largest - before.rss).toBeLessThan(200);
  expect(healthy.played()).toBeGreaterThan(2);
  await allEnded({ ms: 40_000, mb: 200 });
});

test("HTTP clients that never read", async () => {
  const request = `GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n\r\n`;
  const sockets = await rawSockets(10, served.port, request.repeat(2_000));
  // The server accepts them one by one, while it answers those before.
  await pause(3_000);
  await allEnded({ ms: 60_000, mb: 400 });
  for (const socket of sockets) socket.destroy();
});

test("connections that say nothing, or send headers and bodies byte by byte", async () => {
  const host = `Host: 127.0.0.1:${served.port}\r\n`;
  const sockets = [
    ...(await rawSockets(10, served.port, "")),
    ...(await rawSockets(10, served.grpcPort, "")),
    ...(await rawSockets(10, served.port, `POST /reset HTTP/1.1\r\n${host}X-Slow: `)),
    ...(await rawSockets(10, served.port, `POST /reset HTTP/1.1\r\n${host}Content-Length: 100000\r\n\r\n{`)),
    ...(await rawSockets(10, served.port, upgrade("/nothing/ws"))),
    ...(await rawSockets(10, served.port, `${upgrade("/ws").slice(0, -2)}X-Slow: `)),
    ...(await rawSockets(10, served.grpcPort, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
  ];
  for (const socket of sockets.slice(0, 40)) socket.resume().once("end", () => socket.end());
  const timer = setInterval(() => {
    for (const socket of sockets.slice(20, 40)) if (socket.writable) socket.write(" ");
  }, 300);
  await allEnded({ ms: 50_000, mb: 100 });
  clearInterval(timer);
});

test("gRPC streams of steps whose outcomes nobody reads", async () => {
  const session = connectHttp2(served.grpcUrl);
  session.on("error", () => {});
  const call = session.request({
    ...{ ":method": "POST", ":path": "/lyceum.v1.EnvironmentService/StreamStep" },
    ...{ "content-type": "application/grpc+proto", te: "trailers" },
  });
  call.on("error", () => {});
  const wrong = toBinary(
    StreamStepRequestSchema,
    create(StreamStepRequestSchema, { request: { sessionId: "none", stepId: "s".repeat(20_000) } }),
  );
  const head = Buffer.alloc(5);
  head.writeUInt32BE(wrong.length, 1);
  const piece = Buffer.concat(Array(10).fill(Buffer.concat([head, wrong])));
  const { largest } = await largestDuring(served.rssMb, flood(call, piece, 8_000));
  console.log({ grownMb: largest - before.rss });
  expect(largest - before.rss).toBeLessThan(200);
  session.destroy();
});

test("a client process that is stopped in the middle", async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "stopped-client.ts"), served.url, served.grpcUrl]);
  await once(child.stdout, "data");
  expect(await served.metric("lyceum_sessions")).toBeGreaterThan(1);
  child.kill("SIGSTOP");
  await allEnded({ ms: 15_000, mb: 100 });
  child.kill("SIGKILL");
});
