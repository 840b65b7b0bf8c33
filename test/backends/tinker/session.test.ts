import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { chunks } from "../../../trainers/backends/tinker/chunks.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { readTar } from "../../../trainers/backends/tinker/read-tar.ts";
import { adam, exampleData } from "../../../trainers/testing/model-subject.ts";
import type { TinkerDatum } from "../../../trainers/tinker/protocol/pass-request.ts";
import { vector } from "../../../trainers/tinker/protocol/tensor.ts";
import { type ServedModel, servedModel } from "./served-model.ts";
import type { TinkerServer } from "./tinker-server.ts";

let served: ServedModel;
let server: TinkerServer;
beforeAll(async () => {
  served = await servedModel();
  server = await served.serve();
});
afterAll(() => served[Symbol.asyncDispose]());

const trainable = { type: "lora", lora: { rank: 4 } } as const;

function connect(more: Partial<Parameters<typeof createTinkerBackend>[0]> = {}): Promise<TrainingBackend> {
  return createTinkerBackend({ url: server.url, gradients: "sum", times: { delayMs: 1 }, ...more });
}

it("sends the key of the environment with every request", async () => {
  vi.stubEnv("TINKER_API_KEY", "tml-of-the-environment");
  server.requests.length = 0;
  try {
    await using backend = await connect();
    await backend.openModel({ source: served.source, trainable });
  } finally {
    vi.unstubAllEnvs();
  }
  expect(new Set(server.requests.map(({ key }) => key))).toEqual(new Set(["tml-of-the-environment"]));
});

it.each([401, 403])("names the variable of the key if the server refuses it: %s", async (status) => {
  server.fault = { before: (_route, _request, response) => !!response.writeHead(status).end('{"detail":"no"}') };
  await expect(connect()).rejects.toMatchObject({
    code: "server.unauthorized",
    hint: expect.stringContaining("TINKER_API_KEY"),
  });
  server.fault = {};
});

it("says that it is alive until it is closed", async () => {
  const beats = (): number => server.requests.filter(({ route }) => route === "session_heartbeat").length;
  server.requests.length = 0;
  const backend = await connect({ times: { delayMs: 1, heartbeatMs: 5 } });
  await expect.poll(beats).toBeGreaterThan(3);
  await backend.close();
  const before = beats();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(beats()).toBeLessThanOrEqual(before + 1);
});

it("sends a pass and its step before it waits for either", async () => {
  await using backend = await connect();
  const model = await backend.openModel({ source: served.source, trainable });
  server.requests.length = 0;
  await model.trainStep!(exampleData(1), [{ type: "crossEntropy" }], { adam, stepId: 1 });
  expect(server.requests.slice(0, 3).map(({ route }) => route)).toEqual([
    "forward_backward",
    "optim_step",
    "retrieve_future",
  ]);
});

it("creates an adapter for each model, and frees it", async () => {
  server.requests.length = 0;
  const backend = await connect();
  const models = [1, 2].map((seed) =>
    backend.openModel({ source: served.source, trainable: { type: "lora", lora: { rank: 2, seed } } }),
  );
  await Promise.all(models);
  await backend.close();
  const created = server.requests.filter(({ route }) => route === "create_model").map(({ body }) => body);
  // The first adapter is that of the probe.
  expect(created.slice(1).map(({ lora_config: { rank, seed } }) => ({ rank, seed }))).toEqual([
    { rank: 2, seed: 1 },
    { rank: 2, seed: 2 },
  ]);
  expect(new Set(created.map(({ model_seq_id }) => model_seq_id)).size).toBe(3);
  expect(server.requests.filter(({ route }) => route === "unload_model")).toHaveLength(3);
});

it("says what to set if the server cannot train every weight", async () => {
  const adapters = await served.serve({ full: false });
  await using backend = await connect({ url: adapters.url });
  const opened = backend.openModel({ source: served.source, trainable: { type: "full" } });
  await expect(opened).rejects.toMatchObject({
    code: "backend.unsupported",
    message: expect.stringContaining("rank 0 is not allowed"),
    hint: "Set model.adapter.type to lora.",
  });
});

it("splits data by number and by size", () => {
  const datum = (length: number): TinkerDatum => ({
    tokens: new Int32Array(length),
    lossInputs: { weights: vector(new Float32Array(length)) },
  });
  const small = Array.from({ length: 5 }, () => datum(1));
  const sizes = (parts: ReturnType<typeof chunks>) => parts.map(({ first, data }) => [first, data.length]);
  expect(sizes(chunks(small))).toEqual([[0, 5]]);
  expect(sizes(chunks(small, { data: 2, bytes: 1e6 }))).toEqual([
    [0, 2],
    [2, 2],
    [4, 1],
  ]);
  // 20 bytes each: a token and a weight.
  expect(sizes(chunks([datum(1), datum(1), datum(900), datum(1)], { data: 9, bytes: 40 }))).toEqual([
    [0, 2],
    [2, 1],
    [3, 1],
  ]);
});

it("refuses an archive that is cut off", () => {
  const header = Buffer.alloc(512);
  header.write("./adapter_config.json", 0);
  header.write("00000001000 ", 124);
  header.write("0", 156);
  expect([...readTar(Buffer.concat([header, Buffer.alloc(1024)])).keys()]).toEqual(["adapter_config.json"]);
  expect(() => readTar(Buffer.concat([header, Buffer.alloc(100)]))).toThrow(/damaged/);
});
