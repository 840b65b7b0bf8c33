import { type EventEmitter, once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Health } from "../../server/grpc/generated/grpc/health/v1/health_pb.ts";
import {
  BatchStepRequestSchema,
  ListTasksRequestSchema,
  ResetRequestSchema,
  StepRequestSchema,
} from "../../server/grpc/generated/lyceum/v1/environment_pb.ts";
import { createRandom, type Random } from "../../src/core/random/random.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { exchange, http2Statuses } from "../server/http/odd-requests.ts";
import { RawClient } from "../server/openenv/raw-client.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import {
  fuzzedBytes,
  fuzzedCall,
  fuzzedCallHeaders,
  fuzzedHttp2,
  fuzzedLines,
  fuzzedRequest,
  fuzzedText,
} from "./fuzzed-frames.ts";
import { healthySession } from "./healthy-session.ts";
import { type ServedProcess, servedEnvironment, serveProcess, startServer, untilBelow } from "./served-process.ts";

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

/** The requests of an hour to one server, at ten a second: an agent's step takes a tenth of a second or longer. */
const hourOfRequests = 36_000;
const scale = Number(process.env.LYCEUM_FUZZED_HOURS ?? 1);

interface FuzzedProcess {
  readonly words: readonly string[];
  readonly health: string;
  readonly routes: readonly string[];
  readonly bodies: readonly unknown[];
}

const chat = { model: "tiny", messages: [{ role: "user", content: "Hi" }], max_tokens: 2, stream: true };
const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { session_id: "x" } };
const task = { split: "train", index: 0, seed: 1 };

/** Every server but gRPC, with its routes and right bodies of them. The model is small, and the folder has no runs. */
const processes = (model: string, folder: string): Readonly<Record<string, FuzzedProcess>> => ({
  serve: {
    words: ["serve", "-e", servedEnvironment, "--workers", "1", "--idle-timeout", "5"],
    health: "/health",
    routes: [
      ...["/reset", "/step", "/state?session_id=x", "/mcp", "/ws", "/counting/ws", "/metadata", "/schema", "/metrics"],
      ...[
        "/create_session",
        "/create",
        "/ping",
        "/delete",
        "/tools",
        "/prompt",
        "/call",
        "/score_group",
        "/task_tools",
      ],
      ...["/counting/task", "/counting/tasks", "/counting/num_tasks", "/counting/task_range", "/openapi.json"],
    ],
    bodies: [
      ...[{ seed: 3, split: "train", index: 1 }, { action: { text: "a" }, timeout_s: 1 }, call, task],
      ...[{ task_spec: task, env_name: "counting" }, { name: "answer", input: {}, task_id: "x" }, { candidates: [] }],
    ],
  },
  capture: {
    words: ["capture", "--model", join(import.meta.dirname, "fixed-policy.ts"), "--admin-key", "admin"],
    health: "/health",
    routes: [
      ...["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/models"],
      ...[
        "/sessions",
        "/sessions/x",
        "/sessions/x/rollout",
        "/sessions/x/trace_entries",
        "/health",
        "/chat/completions",
      ],
    ],
    bodies: [
      chat,
      { model: "a", input: "Hi", tools: [] },
      { ...chat, system: "a" },
      { session_id: "x", purpose: "eval" },
    ],
  },
  "serve-model": {
    words: ["serve-model", model, "--name", "tiny", "--chat-template", "none", "--device", "cpu", "--max-models", "2"],
    health: "/healthz",
    routes: [
      ...["/v1/chat/completions", "/v1/completions", "/v1/models", "/healthz", "/metrics"],
      ...[
        "create_session",
        "create_model",
        "forward",
        "forward_backward",
        "asample",
        "retrieve_future",
        "sessions",
      ].map((route) => `/api/v1/${route}`),
      ...["optim_step", "save_weights", "load_weights", "weights_info", "telemetry", "sessions/x", "samplers/%"].map(
        (route) => `/api/v1/${route}`,
      ),
    ],
    bodies: [
      ...[chat, { model: "tiny", prompt: "ab", max_tokens: 2 }, { request_id: "x:1" }, { model_id: "x", path: "a" }],
      {
        prompt: { chunks: [{ type: "encoded_text", tokens: [1] }] },
        sampling_params: { max_tokens: 1 },
        base_model: "tiny",
      },
    ],
  },
  view: {
    words: ["view", folder],
    health: "/",
    routes: ["/", "/page.js", "/page.css", "/api/runs", "/api/run?run=x", "/api/episodes?run=..%2f", "/api/compare"],
    bodies: [{}],
  },
});

describe("an hour's worth of wrong requests", () => {
  let folder: string;
  let model: string;
  beforeAll(async () => {
    folder = temporaryFolder();
    await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    model = (await tinyModel(backend, folder)).path;
  });

  test.each([
    ["serve", undefined],
    ["serve", "secret"],
    ["capture", undefined],
    ["serve-model", undefined],
    ["serve-model", "secret"],
    ["view", undefined],
  ] as const)("ends no %s with the token %s", async (name, token) => {
    const { words, health, routes, bodies } = processes(model, await mkdtemp(join(folder, "runs-")))[name]!;
    await using served = await startServer(words, { ready: /at http:\/\/127\.0\.0\.1:(\d+)/, token });
    const random = createRandom(29);
    const statuses = new Map<string, number>();
    const started = performance.now();
    await times(hourOfRequests * scale, 16, async () => {
      const key = name === "capture" ? "admin" : token;
      const sent = fuzzedLines(random, { port: served.port, token: key, routes, bodies });
      const answer = await exchange(served.port, sent, 1_000, { ends: true });
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none";
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (served.child.exitCode !== null) throw new Error(`It ended after: ${sent.toString("latin1").slice(0, 2_000)}`);
      if (answer.includes("Its log says why")) throw new Error(sent.toString("latin1").slice(0, 2_000));
    });
    expect((await fetch(served.url + health)).status).toBe(200);
    expect(served.errors()).toBe("");
    console.log(name, token, Math.round(performance.now() - started), "ms", Object.fromEntries(statuses));
  });

  test.each([undefined, "secret"])("ends no gRPC server with the token %s", async (token) => {
    await using served = await serveProcess(["--workers", "1"], { token });
    const random = createRandom(31);
    const services = ["lyceum.v1.EnvironmentService/Reset", "grpc.health.v1.Health/Check"];
    const paths = [...services, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"].map((path) => `/${path}`);
    const statuses = new Map<string, number>();
    await times((hourOfRequests * scale) / 30, 8, async () => {
      const calls = Array.from({ length: 20 }, () => fuzzedCallHeaders(random, paths, token));
      for (const status of await http2Statuses(served.grpcUrl, calls, 100))
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      for (let index = 0; index < 10; index++) {
        await exchange(served.grpcPort, fuzzedHttp2(random), 1_000, { ends: true });
      }
      if (served.child.exitCode !== null) throw new Error(`It ended after: ${JSON.stringify(calls)}`);
    });
    const transport = createGrpcTransport({ baseUrl: served.grpcUrl });
    expect(await createClient(Health, transport).check({})).toMatchObject({ status: 1 });
    expect(served.errors()).toBe("");
    console.log("gRPC", token, Object.fromEntries(statuses));
  });
});
