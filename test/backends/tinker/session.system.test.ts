import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { tarArchive } from "../../../src/core/files/tar-archive.ts";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { chunks } from "../../../trainers/backends/tinker/chunks.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { readTar } from "../../../trainers/backends/tinker/read-tar.ts";
import type { TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { adam, exampleData, request, sampleAll } from "../../../trainers/testing/model-subject.ts";
import { exchangeIdHeader } from "../../../trainers/tinker/protocol/exchange-id.ts";
import { protobufType, type TinkerDatum } from "../../../trainers/tinker/protocol/pass-request.ts";
import { vector } from "../../../trainers/tinker/protocol/tensor.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { runTraining } from "../../trainers/run-training.ts";
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

it("writes the key into no file of a run", async () => {
  const key = "tml-secret-of-the-environment";
  vi.stubEnv("TINKER_API_KEY", key);
  const output = temporaryFolder();
  try {
    await using backend = await connect();
    const config: TrainingConfigInput = {
      algorithm: { id: "sft" },
      model: { path: served.source.path, chatTemplate: "none", adapter: { type: "lora", rank: 4 } },
      training: { steps: 1, batchSize: 2 },
    };
    const { error } = await runTraining({ output, config, backend });
    expect(error).toBeUndefined();
  } finally {
    vi.unstubAllEnvs();
  }
  const files = await readdir(output, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "latin1")),
  );
  expect(texts.length).toBeGreaterThan(3);
  expect(texts.filter((text) => text.includes(key))).toEqual([]);
});

it("refuses an address with a password", async () => {
  await expect(connect({ url: "http://me:secret@127.0.0.1:9" })).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.not.stringContaining("secret"),
  });
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
  // The first step shows that the server runs requests in order.
  await model.trainStep!(exampleData(1), [{ type: "crossEntropy" }], { adam, stepId: 1 });
  server.requests.length = 0;
  await model.trainStep!(exampleData(1), [{ type: "crossEntropy" }], { adam, stepId: 2 });
  expect(server.requests.slice(0, 3).map(({ route }) => route)).toEqual([
    "forward_backward",
    "optim_step",
    "retrieve_future",
  ]);
});

it("waits for the result of a pass before its step on SkyRL, which may run the step first", async () => {
  const skyrl = await served.serve();
  skyrl.fault = {
    after: (route, response, { status, headers, body }) => {
      if (route !== "retrieve_future") return false;
      const { "content-length": _, ...rest } = headers;
      response.writeHead(status, rest).end(body.toString().replace("grad_norm:mean", "skyrl.ai/grad_norm"));
      return true;
    },
  };
  await using backend = await connect({ url: skyrl.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const routesOf = async (stepId: number): Promise<string[]> => {
    skyrl.requests.length = 0;
    await model.trainStep!(exampleData(1), [{ type: "crossEntropy" }], { adam, stepId });
    return skyrl.requests.map(({ route }) => route);
  };
  // The first pass finds out by two forward passes whether the server recognizes numbers.
  const first = await routesOf(1);
  expect(first.splice(0, first.indexOf("forward_backward"))).toContain("forward");
  for (const routes of [first, await routesOf(2)]) {
    expect(routes.filter((route) => route !== "retrieve_future")).toEqual(["forward_backward", "optim_step"]);
    expect(routes[1]).toBe("retrieve_future");
  }
  expect(model.version).toBe(2);
});

it.each([
  "sum",
  "auto",
] as const)("creates an adapter for each model with the rule %s, and frees it", async (gradients) => {
  server.requests.length = 0;
  const backend = await connect({ gradients });
  const models = [1, 2].map((seed) =>
    backend.openModel({ source: served.source, trainable: { type: "lora", lora: { rank: 2, seed } } }),
  );
  await Promise.all(models);
  await backend.close();
  const created = server.requests.filter(({ route }) => route === "create_model").map(({ body }) => body);
  // With `auto`, the first adapter is that of the probe. The others may arrive in any order.
  const probes = gradients === "auto" ? 1 : 0;
  const opened = created.slice(probes).map(({ lora_config: { rank, seed } }) => ({ rank, seed }));
  expect(opened.toSorted((a, b) => a.seed - b.seed)).toEqual([
    { rank: 2, seed: 1 },
    { rank: 2, seed: 2 },
  ]);
  expect(new Set(created.map(({ model_seq_id }) => model_seq_id)).size).toBe(2 + probes);
  expect(server.requests.filter(({ route }) => route === "unload_model")).toHaveLength(2 + probes);
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

/** Serves a model like TuFT: passes in protobuf only, without saying so. Passes in JSON get this status. */
async function protobufOnly(status: number): Promise<{ readonly refused: string[]; readonly url: string }> {
  const other = await served.serve({ binary: true, copiesIds: false });
  const refused: string[] = [];
  other.fault = {
    before: (route, request, response) => {
      if (route === "client/config") return !!response.writeHead(200).end("{}");
      if (!route.startsWith("forward") || request.headers["content-type"] === protobufType) return false;
      refused.push(route);
      return !!response.writeHead(status).end('{"detail":"no"}');
    },
  };
  return { refused, url: other.url };
}

it.each([404, 405, 415])("sends passes in protobuf to a server that refuses JSON with status %i", async (status) => {
  const { refused, url } = await protobufOnly(status);
  await using backend = await connect({ url });
  await using own = await connect();
  const [model, same] = await Promise.all(
    [backend, own].map((each) => each.openModel({ source: served.source, trainable })),
  );
  const data = exampleData(2);
  const term = { type: "crossEntropy" } as const;
  for (let step = 1; step <= 2; step++) {
    const [there, here] = [await model!.forwardBackward(data, [term]), await same!.forwardBackward(data, [term])];
    expect(there.loss).toBeCloseTo(here.loss, 5);
    await model!.optimStep(adam, { stepId: step });
    await same!.optimStep(adam, { stepId: step });
  }
  // The first pass is the only one in JSON.
  expect(refused).toEqual(["forward"]);
});

it("trains on a server like SkyRL 0.4.0, and sends a lost pass again under its number", async () => {
  const other = await served.serve({ binary: true, copiesIds: false, shortPaths: true });
  const seen: string[] = [];
  const numbers: number[] = [];
  other.fault = {
    before: (route, request, response) => {
      if (route === "client/config") return !!response.writeHead(200).end("{}");
      // A forward pass is a kind of forward_backward in protobuf. There is no other route for it.
      if (request.url === "/api/v1/forward") {
        seen.push("forward");
        return !!response.writeHead(404).end('{"detail":"Not Found"}');
      }
      if (request.url !== "/api/v1/forward_backward") return false;
      if (request.headers["content-type"] === protobufType) return false;
      seen.push("json");
      return !!response.writeHead(415).end('{"detail":"forward_backward requires a protobuf body"}');
    },
    after: (route, response, _answer, { seq_id }) => {
      if (route !== "forward_backward") return false;
      // The server has the first pass, and the client does not know it.
      return numbers.push(seq_id) === 1 && !!response.destroy();
    },
  };
  await using backend = await connect({ url: other.url });
  await using own = await connect();
  const [model, same] = await Promise.all(
    [backend, own].map((each) => each.openModel({ source: served.source, trainable })),
  );
  const data = exampleData(2);
  const step = async (on: typeof model, stepId: number) =>
    (await on!.trainStep!(data, [{ type: "crossEntropy" }], { adam, stepId })).loss.loss;
  for (let stepId = 1; stepId <= 2; stepId++)
    expect(await step(model, stepId)).toBeCloseTo(await step(same, stepId), 5);
  expect(seen).toEqual(["forward"]);
  expect(numbers).toEqual([numbers[0], numbers[0], expect.any(Number)]);
  expect(numbers[2]).toBeGreaterThan(numbers[0]!);
  expect(other.steps).toEqual([2]);
});

it("keeps an encoding that the config names, or that the server has accepted", async () => {
  const { refused, url } = await protobufOnly(415);
  const data = exampleData(1);
  const term = { type: "crossEntropy" } as const;
  {
    await using backend = await connect({ url, encoding: "json" });
    const model = await backend.openModel({ source: served.source, trainable });
    const error = { code: "backend.failed", message: expect.stringContaining("415") };
    await expect(model.forwardBackward(data, [term])).rejects.toMatchObject(error);
    expect(refused).toEqual(["forward"]);
  }
  const plain = await served.serve();
  await using backend = await connect({ url: plain.url });
  const model = await backend.openModel({ source: served.source, trainable });
  await model.forwardBackward(data, [term]);
  const types: unknown[] = [];
  plain.fault = {
    before: (route, request, response) => {
      if (!route.startsWith("forward")) return false;
      types.push(request.headers["content-type"]);
      return !!response.writeHead(404).end('{"detail":"lost"}');
    },
  };
  await expect(model.forwardBackward(data, [term])).rejects.toMatchObject({ code: "backend.unavailable" });
  expect(types).toEqual(["application/json"]);
});

it("reports the first refusal of a server that refuses both encodings", async () => {
  const other = await served.serve();
  other.fault = {
    before: (route, request, response) => {
      if (!route.startsWith("forward")) return false;
      const status = request.headers["content-type"] === protobufType ? 422 : 404;
      return !!response.writeHead(status).end(`{"detail":"status ${status}"}`);
    },
  };
  await using backend = await connect({ url: other.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const pass = model.forwardBackward(exampleData(1), [{ type: "crossEntropy" }]);
  await expect(pass).rejects.toMatchObject({
    ...{ code: "backend.unavailable", message: expect.stringContaining("status 404") },
  });
});

it.each([
  false,
  true,
])("deletes what it has saved for itself on a server (paths without kinds: %s)", async (shortPaths) => {
  const other = await served.serve({ shortPaths });
  await using backend = await connect({ url: other.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const output = temporaryFolder();
  const saved = async () =>
    ((await (await fetch(`${other.url}/api/v1/checkpoints`)).json()) as { checkpoints: unknown[] }).checkpoints;
  const sampler = await model.snapshot();
  await sampleAll(sampler, [request(model, { seed: 1, temperature: 1, length: 2 })]);
  await model.save(join(output, "state"));
  expect(await saved()).toHaveLength(2);
  await model.export(join(output, "exported"), "peft");
  await sampler.close();
  expect(await model.discard!(join(output, "state"))).toBeUndefined();
  await expect.poll(saved).toEqual([]);
});

it.each([
  ["file:///srv/weights/a", "on its own machine, at /srv/weights/a."],
  ["s3://bucket/a", "begins with s3:"],
])("says what to do if the address of an archive is %s", async (location, message) => {
  const other = await served.serve({ copiesIds: false });
  other.fault = {
    before: (route, _request, response) => route.endsWith("/archive") && !!response.writeHead(302, { location }).end(),
  };
  await using backend = await connect({ url: other.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const exported = model.export(join(temporaryFolder(), "exported"), "peft");
  await expect(exported).rejects.toMatchObject({
    ...{ code: "backend.unsupported", message: expect.stringContaining(message) },
    hint: expect.stringContaining("export.format"),
  });
});

it("reads the plain files of an archive, and refuses one that is cut off or damaged", async () => {
  const config = { path: "./folder/../adapter_config.json", mode: 0o644, kind: "file", size: 3 } as const;
  const link = { path: "link", mode: 0o777, kind: "link", target: "/etc/passwd" } as const;
  const folder = { path: "folder", mode: 0o755, kind: "folder" } as const;
  const archive = await buffer(tarArchive([folder, link, { ...config, content: [Buffer.from("abc")] }]));
  expect(await readTar(archive)).toEqual(new Map([["adapter_config.json", Buffer.from("abc")]]));
  const damaged = { code: "backend.failed", message: expect.stringContaining("damaged") };
  await expect(readTar(archive.subarray(0, 1536 + 2))).rejects.toMatchObject(damaged);
  await expect(readTar(archive.subarray(0, 1000))).rejects.toMatchObject(damaged);
  const noSum = Buffer.from(archive);
  noSum.write("77777777777", 1024 + 124);
  await expect(readTar(noSum)).rejects.toMatchObject(damaged);
});

it("waits for all samples of a sampler by one request at a time", async () => {
  await using backend = await connect();
  const model = await backend.openModel({ source: served.source, trainable });
  const requests = Array.from({ length: 12 }, (_, seed) => request(model, { seed, temperature: 1, length: 4 }));
  const alone = await served.serve({ batchesPolls: false });
  await using other = await connect({ url: alone.url });
  const sampler = await (await other.openModel({ source: served.source, trainable })).snapshot();
  // The first saved sampler finds out whether the server recognizes numbers.
  await model.snapshot();
  server.requests.length = 0;
  const found = await sampleAll(await model.snapshot(), requests);
  expect(found.map(({ ids }) => ids)).toEqual((await sampleAll(sampler, requests)).map(({ ids }) => ids));
  const polls = server.requests.filter(({ route }) => route === "retrieve_futures").map(({ body }) => body);
  // The client asks for a result only after it has ended, so it asks once.
  expect(server.requests.filter(({ route }) => route === "retrieve_future")).toHaveLength(12 + 1);
  expect(polls.length).toBeLessThanOrEqual(12);
  expect(polls.map(({ prev_cursor }) => prev_cursor)).toEqual(
    polls.map(({ prev_cursor }) => prev_cursor).toSorted((a, b) => a - b),
  );
  expect(alone.requests.filter(({ route }) => route === "retrieve_futures")).toEqual([]);
});

it("asks for each result if the server does not say which requests have ended", async () => {
  const broken = await served.serve();
  broken.fault = {
    before: (route, _request, response) => route === "retrieve_futures" && !!response.writeHead(404).end("{}"),
  };
  await using backend = await connect({ url: broken.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const requests = [1, 2].map((seed) => request(model, { seed, temperature: 1, length: 4 }));
  expect(await sampleAll(await model.snapshot(), requests)).toHaveLength(2);
});

it("pauses between polls if the server does not wait for a sample", async () => {
  const hasty = await served.serve();
  await using backend = await connect({ url: hasty.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const sampler = await model.snapshot();
  const times: number[] = [];
  hasty.fault = {
    before: (route, { headers }, response) => {
      if (route !== "retrieve_futures" || times.push(performance.now()) > 3) return false;
      const copied = { "content-type": "application/json", [exchangeIdHeader]: String(headers[exchangeIdHeader]) };
      response.writeHead(200, copied).end(JSON.stringify({ completions: [], cursor: 0 }));
      return true;
    },
  };
  expect(await sampleAll(sampler, [request(model, { seed: 1, temperature: 1, length: 4 })])).toHaveLength(1);
  for (const [i, time] of times.slice(1).entries()) expect(time - times[i]!).toBeGreaterThan(90);
});

it("ends its poll when the samples are aborted", async () => {
  const slow = await served.serve();
  await using backend = await connect({ url: slow.url });
  const model = await backend.openModel({ source: served.source, trainable });
  const sampler = await model.snapshot();
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  slow.fault = {
    before: (route, _request, response) => {
      if (route !== "retrieve_futures") return false;
      response.once("close", ended.resolve);
      stop.abort();
      return true;
    },
  };
  const sampled = sampleAll(sampler, [request(model, { seed: 1, temperature: 1, length: 4 })], stop.signal);
  await expect(sampled).rejects.toThrow(/abort/i);
  await ended.promise;
});
