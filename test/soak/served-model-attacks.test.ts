import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { createRandom, type Random } from "../../src/core/random/random.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { passRequestToBytes, passRequestToJson, protobufType } from "../../trainers/tinker/protocol/pass-request.ts";
import { vector } from "../../trainers/tinker/protocol/tensor.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { largestDuring, type ServerProcess, startServer, untilBelow } from "./served-process.ts";

let folder: string;
let model: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  model = (await tinyModel(backend, folder)).path;
});

function serve(args: readonly string[] = []): Promise<ServerProcess> {
  const words = ["serve-model", model, "--name", "tiny", "--chat-template", "none", "--device", "cpu", ...args];
  return startServer(words, { ready: /at http:\/\/127\.0\.0\.1:(\d+)/ });
}

// biome-ignore lint/suspicious/noExplicitAny: bodies are what attackers send.
type Body = any;

function clientOf({ url }: ServerProcess) {
  const send = async (path: string, init: RequestInit): Promise<{ status: number; body: Body }> => {
    const response = await fetch(`${url}/${path}`, { method: "POST", ...init });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  const post = (path: string, body: unknown) => send(path, { body: JSON.stringify(body) });
  const api = (route: string, body: unknown) => post(`api/v1/${route}`, body);
  const result = async (promise: { body: Body }): Promise<Body> => {
    for (;;) {
      const { status, body } = await api("retrieve_future", { request_id: promise.body.request_id });
      if (status !== 408) return body;
    }
  };
  /** Opens a session with a model. */
  const open = async (): Promise<{ session: string; model: string }> => {
    const session = (await api("create_session", {})).body.session_id;
    const lora_config = { rank: 2 };
    const created = await api("create_model", {
      session_id: session,
      model_seq_id: 0,
      base_model: "tiny",
      lora_config,
    });
    return { session, model: (await result(created)).model_id };
  };
  return { send, post, api, result, open };
}

const example = {
  seqId: undefined,
  lossName: "cross_entropy",
  lossConfig: {},
  forwardOnly: true,
  data: [
    {
      tokens: Int32Array.of(1, 5),
      lossInputs: { target_tokens: vector(Int32Array.of(5, 9)), weights: vector(Float32Array.of(1, 1)) },
    },
  ],
};

/** Valid bodies of the routes that read one. */
function bodies(session: string, modelId: string): readonly (readonly [string, Body])[] {
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
  const sampling_params = { max_tokens: 2, seed: 1, temperature: 1, top_k: 3, top_p: 0.5, stop: ["a"] };
  const base = { base_model: "tiny" };
  const path = `tinker://${modelId}/weights/a`;
  return [
    ["api/v1/create_session", { tags: [], sdk_version: "0" }],
    ["api/v1/session_heartbeat", { session_id: session }],
    // A sequence id that was used does not create a model.
    ["api/v1/create_model", { session_id: session, model_seq_id: 0, ...base, lora_config: { rank: 2 } }],
    ["api/v1/get_info", { model_id: modelId }],
    ["api/v1/forward", passRequestToJson({ ...example, modelId })],
    ["api/v1/optim_step", { model_id: modelId, adam_params: { learning_rate: 0, beta1: 0.9 } }],
    ["api/v1/save_weights", { model_id: modelId, path: "a", overwrite: true }],
    ["api/v1/load_weights", { model_id: modelId, path, optimizer: true }],
    ["api/v1/save_weights_for_sampler", { model_id: modelId, sampling_session_seq_id: 1 }],
    ["api/v1/create_sampling_session", { session_id: session, sampling_session_seq_id: 2, ...base }],
    ["api/v1/asample", { prompt, num_samples: 2, sampling_params, ...base, topk_prompt_logprobs: 2 }],
    ["api/v1/cancel_future", { request_id: "none:1" }],
    ["api/v1/weights_info", { tinker_path: path }],
    ["v1/completions", { model: "tiny", prompt: "ab", max_tokens: 2, n: 2, stop: "a", logprobs: 1 }],
    ["v1/chat/completions", { model: "tiny", messages: [{ role: "user", content: "a" }], max_tokens: 2, tools: [] }],
  ];
}

function nested(depth: number): Body {
  let value: Body = [];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

/** Replaces or removes one random part of a JSON value. */
function damaged(value: Body, random: Random): Body {
  const wrong: (() => Body)[] = [
    () => null,
    () => -1,
    () => 1e308,
    () => 0.5,
    () => 2 ** 53,
    () => "",
    () => "../../etc/passwd",
    () => "\u0000\uD800",
    () => "x".repeat(10_000),
    () => true,
    () => [],
    () => ({}),
    () => ({ __proto__: null, constructor: 1, toString: 2 }),
    () => Array(3000).fill(1),
    () => nested(3000),
  ];
  const keys = value !== null && typeof value === "object" ? Object.keys(value) : [];
  if (keys.length === 0 || random.next() < 0.15) return random.pick(wrong)();
  const key = random.pick(keys);
  const copy = Array.isArray(value) ? [...value] : { ...value };
  if (random.next() < 0.1) delete copy[key];
  else copy[key] = damaged(copy[key], random);
  return copy;
}

/** The model still answers, and its server has written no error. */
async function expectHealthy(served: ServerProcess): Promise<void> {
  const { status, body } = await clientOf(served).post("v1/completions", {
    model: "tiny",
    prompt: "ab",
    max_tokens: 2,
  });
  expect(status).toBe(200);
  expect(body.choices).toHaveLength(1);
  expect(served.errors()).toBe("");
}

test("4,000 malformed bodies get a typed error, or the answer of a valid one", async () => {
  await using served = await serve();
  const client = clientOf(served);
  const { session, model: modelId } = await client.open();
  const all = bodies(session, modelId);
  const random = createRandom(1);
  const statuses: Record<string, number> = {};
  const attack = async (): Promise<void> => {
    const [path, body] = random.pick(all);
    const kind = random.next();
    const text = JSON.stringify(body);
    const at = random.integer(0, text.length);
    const sent = kind < 0.8 ? JSON.stringify(damaged(body, random)) : kind < 0.9 ? text.slice(0, at) : `\uFEFF${text}{`;
    const answer = await client.send(path, { body: sent });
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    expect([200, 400, 404, 408, 409, 410, 413, 422, 429], `${path} ${sent.slice(0, 500)}`).toContain(answer.status);
    if (answer.status !== 200) {
      const { detail, error } = answer.body;
      expect(typeof (detail ?? error?.message), JSON.stringify(answer.body)).toBe("string");
    }
  };
  for (let i = 0; i < 1000; i++) await Promise.all([attack(), attack(), attack(), attack()]);
  console.log(statuses);
  expect(statuses[422]).toBeGreaterThan(500);
  await expectHealthy(served);
});

test("2,000 damaged messages of protobuf get a typed error, or the result of a valid one", async () => {
  await using served = await serve();
  const client = clientOf(served);
  const { model: modelId } = await client.open();
  const bytes = passRequestToBytes({ ...example, modelId });
  const random = createRandom(2);
  const headers = { "content-type": protobufType };
  for (let i = 0; i < 2000; i++) {
    const copy = bytes.slice(0, random.next() < 0.3 ? random.integer(0, bytes.length) : bytes.length);
    for (let k = 0; k < 3 && copy.length > 0; k++) copy[random.integer(0, copy.length - 1)] = random.integer(0, 255);
    const answer = await client.send("api/v1/forward_backward", { body: copy as Uint8Array<ArrayBuffer>, headers });
    expect([200, 400, 404, 422]).toContain(answer.status);
    const found = answer.status === 200 ? await client.result(answer) : answer.body;
    expect(found.detail ?? found.error ?? found.loss_fn_outputs, JSON.stringify(found)).toBeDefined();
    if (found.error !== undefined) expect(found.category).toBe("user");
  }
  await expectHealthy(served);
});

/** Sends a text and returns the status of the answer. */
async function rawStatus(port: number, parts: readonly (string | Buffer)[]): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  for (const part of parts) socket.write(part);
  const answer = await Promise.race([
    once(socket, "data"),
    once(socket, "close").then(() => [""]),
    pause(20_000, [""]),
  ]);
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(answer[0]))?.[1]);
}

test("bodies of 1 GB, and small ones that become as large, are refused early", async () => {
  await using served = await serve();
  const before = served.rssMb();
  const attack = async (): Promise<void> => {
    for (const path of ["/api/v1/asample", "/api/v1/forward", "/v1/completions", "/api/v1/weights_info"]) {
      const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n`;
      expect(await rawStatus(served.port, [`${head}Content-Length: 1000000000\r\n\r\n{`])).toBe(413);
      const size = 80 * 2 ** 20;
      const chunk = [`${head}Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`, Buffer.alloc(size, " ")];
      expect(await rawStatus(served.port, chunk)).toBe(413);
    }
    const bomb = zstdCompressSync(Buffer.alloc(2 ** 30));
    const headers = { "content-type": protobufType, "content-encoding": "zstd" };
    const body = new Uint8Array(bomb);
    for (let i = 0; i < 10; i++) {
      expect((await clientOf(served).send("api/v1/forward_backward", { body, headers })).status).toBe(413);
    }
  };
  const { largest } = await largestDuring(served.rssMb, attack());
  console.log({ before, largest });
  expect(largest - before).toBeLessThan(400);
  await expectHealthy(served);
});

test("ids that are unknown, of another session or of an ended session are refused", async () => {
  await using served = await serve();
  const client = clientOf(served);
  const [one, two] = [await client.open(), await client.open()];
  const saved = await client.result(await client.api("save_weights_for_sampler", { model_id: one.model }));
  const { path } = await client.result(await client.api("save_weights", { model_id: one.model, path: "a" }));
  await client.send(`api/v1/sessions/${one.session}/finish`, { body: "{}" });
  const sample = { prompt: { chunks: [{ tokens: [1] }] }, sampling_params: { max_tokens: 1 } };
  const crossed = `${two.session}:train:1`;
  for (const id of [one.model, crossed, "none", "x".repeat(10_000), "../../a", "__proto__", "constructor"]) {
    const passes = [passRequestToJson({ ...example, modelId: id })];
    const routes: [string, Body][] = [
      ["optim_step", { model_id: id, adam_params: {} }],
      ["forward", passes[0]],
      ["get_info", { model_id: id }],
      ["unload_model", { model_id: id }],
      ["save_weights", { model_id: id }],
      ["asample", { ...sample, sampling_session_id: id }],
      ["create_sampling_session", { session_id: id, sampling_session_seq_id: 0, base_model: "tiny" }],
      ["session_heartbeat", { session_id: id }],
      ["retrieve_future", { request_id: id }],
      ["cancel_future", { request_id: id }],
    ];
    for (const [route, body] of routes) {
      expect({ route, status: (await client.api(route, body)).status }).toEqual({ route, status: 404 });
    }
    expect((await client.post("v1/completions", { model: id, prompt: "a" })).status).toBe(404);
    for (const method of ["GET", "DELETE"]) {
      const part = encodeURIComponent(id);
      const response = await fetch(`${served.url}/api/v1/training_runs/${part}/checkpoints/weights/x`, { method });
      expect([400, 404]).toContain(response.status);
    }
  }
  const { sampling_session_id } = saved;
  expect((await client.api("asample", { ...sample, sampling_session_id })).status).toBe(404);
  // Checkpoints belong to the server, so that another session may load them.
  expect(await client.result(await client.api("load_weights", { model_id: two.model, path }))).toMatchObject({ path });
  await expectHealthy(served);
});

test("clients that do not read, and requests that never end, do not stop the others", async () => {
  await using served = await serve();
  const client = clientOf(served);
  await client.open();
  const before = { files: served.files(), rss: served.rssMb() };
  const completion = JSON.stringify({ model: "tiny", prompt: "ab", n: 128, max_tokens: 50, logprobs: 1, stream: true });
  const sockets: Socket[] = [];
  for (let i = 0; i < 100; i++) {
    const socket = connect(served.port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.pause();
    const head = `POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\n`;
    if (i % 2 === 0) socket.write(`${head}Content-Length: ${completion.length}\r\n\r\n${completion}`);
    else socket.write(head);
    sockets.push(socket);
  }
  for (let i = 0; i < 20; i++) {
    await expectHealthy(served);
    await pause(100);
  }
  // The server ends both kinds within two minutes.
  expect(await untilBelow(served.files, before.files + 5, 150_000)).toBeLessThanOrEqual(before.files + 5);
  console.log({ before, after: { files: served.files(), rss: served.rssMb() } });
  expect(served.rssMb() - before.rss).toBeLessThan(300);
  for (const socket of sockets) socket.destroy();
  await expectHealthy(served);
});

test("1,000 sessions that are opened and dropped leave nothing", async () => {
  await using served = await serve(["--session-timeout", "2", "--max-models", "8"]);
  const client = clientOf(served);
  const round = async (): Promise<number> => {
    let models = 0;
    for (let i = 0; i < 1000; i += 10) {
      const opened = await Promise.allSettled(
        Array.from({ length: 10 }, async (_, k) => {
          const { session_id } = (await client.api("create_session", {})).body;
          if (k > 0) return false;
          const create = { session_id, model_seq_id: 0, base_model: "tiny", lora_config: { rank: 2 } };
          const created = await client.api("create_model", create);
          expect([200, 429]).toContain(created.status);
          if (created.status === 429) return false;
          const { model_id } = await client.result(created);
          await client.api("save_weights_for_sampler", { model_id });
          return true;
        }),
      );
      for (const outcome of opened) {
        if (outcome.status === "rejected") throw outcome.reason;
        if (outcome.value) models += 1;
      }
    }
    expect(await untilBelow(() => served.metric("lyceum_sessions"), 0)).toBe(0);
    expect(await served.metric("lyceum_models")).toBe(0);
    return models;
  };
  expect(await round()).toBeGreaterThanOrEqual(8);
  const first = { heap: await served.heapMb(), rss: served.rssMb(), files: served.files() };
  for (let i = 0; i < 3; i++) await round();
  const last = { heap: await served.heapMb(), rss: served.rssMb(), files: served.files() };
  console.log({ first, last });
  expect(last.heap - first.heap).toBeLessThan(8);
  expect(last.rss - first.rss).toBeLessThan(80);
  expect(last.files - first.files).toBeLessThan(10);
  await expectHealthy(served);
});
