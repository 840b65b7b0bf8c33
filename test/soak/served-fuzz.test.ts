import { type EventEmitter, once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { createRandom, type Random } from "../../src/core/random/random.ts";
import {
  BatchStepRequestSchema,
  ListTasksRequestSchema,
  ResetRequestSchema,
  StepRequestSchema,
} from "../../src/server/grpc/generated/lyceum/v1/environment_pb.ts";
import { RawClient } from "../server/openenv/raw-client.ts";
import { fuzzedBytes, fuzzedCall, fuzzedRequest, fuzzedText } from "./fuzzed-frames.ts";
import { healthySession } from "./healthy-session.ts";
import { type ServedProcess, serveProcess, untilBelow } from "./served-process.ts";

/** Runs `one` in parallel until it ran `count` times. */
async function times(count: number, parallel: number, one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: parallel }, run));
}

/** Resolves with the first argument of an event. Ignores errors, unlike `once`. */
function eventOf(emitter: EventEmitter, name: string): Promise<unknown> {
  return new Promise((resolve) => emitter.once(name, resolve));
}

const codes = new Set(["INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR", "SESSION_ERROR"]);
const kinds = new Map<string, number>();
const count = (kind: string): void => void kinds.set(kind, (kinds.get(kind) ?? 0) + 1);

/** Sends texts over one connection, 16 at a time. Each has one answer, in order. Reconnects after a `close` message. */
async function fuzzMessages(served: ServedProcess, random: Random, frames: number, path: string): Promise<void> {
  let client = await RawClient.connect(`${served.url}${path}`);
  for (let sent = 0; sent < frames; sent += 16) {
    const before = client.received.length;
    for (let index = 0; index < 16; index++) client.socket.send(fuzzedText(random));
    await client.answer(before + 15);
    for (const answer of client.received.splice(0)) {
      if (path === "/mcp") {
        expect(answer).toMatchObject({ jsonrpc: "2.0" });
        count(`rpc ${"error" in answer ? "error" : "result"}`);
      } else if (answer.type === "error") {
        expect(codes).toContain(answer.data.code);
        if (answer.data.error?.code === "internal") throw new Error(JSON.stringify(answer.data).slice(0, 500));
        count(answer.data.code);
      } else count(answer.type);
    }
    if (client.socket.readyState !== client.socket.OPEN) client = await RawClient.connect(`${served.url}${path}`);
  }
  client.socket.terminate();
}

/** Sends a frame of random bytes, as text or binary, over a connection of its own. It is answered or the connection ends. */
async function fuzzFrame(served: ServedProcess, random: Random): Promise<void> {
  const socket = new WebSocket(`${served.url.replace("http", "ws")}/ws`);
  socket.on("error", () => {});
  await once(socket, "open");
  const ended = Promise.race([eventOf(socket, "message"), eventOf(socket, "close")]);
  socket.send(fuzzedBytes(random), { binary: random.next() < 0.5 });
  const answer = await ended;
  count(typeof answer === "number" ? `close ${answer}` : "answer");
  socket.terminate();
}

/** Sends random bytes after the upgrade, in place of frames. */
async function fuzzProtocol(served: ServedProcess, random: Random): Promise<void> {
  const socket = new WebSocket(`${served.url.replace("http", "ws")}/ws`);
  socket.on("error", () => {});
  await once(socket, "open");
  const { _socket: raw } = socket as unknown as { _socket: { write(bytes: Buffer): void; end(): void } };
  const closed = eventOf(socket, "close");
  raw.write(Buffer.concat([Buffer.from([random.integer(0, 255)]), fuzzedBytes(random)]));
  raw.end();
  await closed;
  count("protocol");
}

/** Sends a raw request and reads the answer to its end. Every answer has a status, and none is 500. */
async function fuzzRequest(served: ServedProcess, random: Random): Promise<void> {
  const socket = connect(served.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  let answer = "";
  socket.on("data", (data) => {
    answer += data.toString("latin1");
  });
  const sent = fuzzedRequest(random, served.port);
  socket.end(sent);
  await eventOf(socket, "close");
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none";
  if (status === "500") throw new Error(`${sent.toString("latin1").slice(0, 400)}\n\n${answer.slice(0, 800)}`);
  count(`HTTP ${status}`);
}

/** Sends wrong calls over one connection of HTTP/2. Every answer has a status. */
async function fuzzCalls(served: ServedProcess, random: Random, frames: number): Promise<void> {
  const agent = { message: { role: "assistant", content: [{ part: { case: "text" as const, value: "hello" } }] } };
  const step = { sessionId: "x", stepId: "1", actions: { agent } };
  const right = [
    toBinary(ResetRequestSchema, create(ResetRequestSchema, { seed: 3n, split: "train", episodeId: "e" })),
    toBinary(StepRequestSchema, create(StepRequestSchema, step)),
    toBinary(BatchStepRequestSchema, create(BatchStepRequestSchema, { requests: [step, step] })),
    toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema, { split: "train", start: 0n, stop: 2n })),
  ];
  const methods = ["Reset", "Step", "BatchStep", "StreamStep", "GetState", "Close", "ListTasks", "Health", "Nothing"];
  const problems: string[] = [];
  let session = connectHttp2(served.grpcUrl);
  session.on("error", () => {});
  for (let sent = 0; sent < frames; sent++) {
    if (session.destroyed || session.closed) {
      session = connectHttp2(served.grpcUrl);
      session.on("error", () => {});
    }
    const call = session.request({
      ":method": "POST",
      ":path": `/lyceum.v1.EnvironmentService/${random.pick(methods)}`,
      "content-type":
        random.next() < 0.9
          ? "application/grpc+proto"
          : random.pick(["application/json", "text/x", "application/grpc+json"]),
      te: "trailers",
      ...(random.next() < 0.1 ? { "grpc-encoding": random.pick(["gzip", "br", "x"]) } : {}),
      ...(random.next() < 0.1 ? { "grpc-timeout": random.pick(["1S", "-1S", "99999999999H", "x"]) } : {}),
    });
    let status: string | undefined;
    call.on("response", (headers) => {
      status = String(headers["grpc-status"] ?? headers[constants.HTTP2_HEADER_STATUS]);
    });
    call.on("trailers", (headers) => {
      status = String(headers["grpc-status"] ?? status);
      const details = Buffer.from(String(headers["grpc-status-details-bin"] ?? ""), "base64").toString("latin1");
      if (details.includes("internal")) problems.push(details);
    });
    call.on("error", () => {});
    call.resume();
    call.end(fuzzedCall(random, right));
    await eventOf(call, "close");
    count(`gRPC ${status ?? "none"}`);
  }
  session.destroy();
  expect(problems).toEqual([]);
}

test("100,000 wrong frames leave the server, its other sessions and its memory alone", async () => {
  await using served = await serveProcess(["--workers", "1", "--idle-timeout", "5", "--max-sessions", "2000"]);
  await using healthy = await healthySession(served.url);
  const random = createRandom(23);
  const round = async (scale: number): Promise<void> => {
    await Promise.all([
      times(4 * scale, 4, () => fuzzMessages(served, random, 1_360, "/ws")),
      times(scale, 1, () => fuzzMessages(served, random, 1_360, "/mcp")),
    ]);
    await times(100 * scale, 8, () => fuzzFrame(served, random));
    await times(100 * scale, 8, () => fuzzProtocol(served, random));
    await times(1_500 * scale, 8, () => fuzzRequest(served, random));
    await times(4 * scale, 4, () => fuzzCalls(served, random, 375));
  };
  await round(1);
  const warm = { rss: served.rssMb(), files: served.files() };
  for (let index = 1; index < 10; index++) await round(1);
  const sessions = await untilBelow(() => served.metric("lyceum_sessions"), 1);
  const after = { rss: served.rssMb(), files: await untilBelow(served.files, warm.files) };
  console.log({ warm, after, kinds: Object.fromEntries(kinds), errors: served.errors() });
  expect(sessions).toBe(1);
  expect(await served.metric("lyceum_workers_replaced")).toBe(0);
  expect(served.errors()).toBe("");
  expect(after.files).toBeLessThanOrEqual(warm.files + 4);
  expect(after.rss).toBeLessThan(warm.rss + 150);
  expect(await healthy.steps()).toBeGreaterThan(10);
});
