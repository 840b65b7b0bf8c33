import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { readTar } from "../../../trainers/backends/tinker/read-tar.ts";
import { passRequestToJson } from "../../../trainers/tinker/protocol/pass-request.ts";
import { vector } from "../../../trainers/tinker/protocol/tensor.ts";
import type { TinkerServiceOptions } from "../../../trainers/tinker/service/service-options.ts";
import { tinkerApp } from "../../../trainers/tinker/service/tinker-app.ts";
import { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { type TinyModel, tinyModel } from "./tiny-model.ts";

let folder: string;
let backend: TrainingBackend;
let source: TinyModel;
beforeAll(async () => {
  folder = temporaryFolder();
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  source = await tinyModel(backend, folder);
});
afterAll(async () => {
  await backend.close();
});

// biome-ignore lint/suspicious/noExplicitAny: answers are what the server sends.
type Body = any;

/** A client of the raw routes, with one session. */
async function connect(saved: string, options: Partial<TinkerServiceOptions> = {}) {
  const service = new TinkerService({ backend, source, names: ["tiny"], folder: join(folder, saved), ...options });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const app = tinkerApp({ service });
  const request = (path: string, init?: RequestInit) => app.request(`/api/v1/${path}`, init);
  const post = async (path: string, body: unknown): Promise<{ status: number; body: Body }> => {
    const response = await request(path, { method: "POST", body: JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  };
  const get = async (path: string): Promise<Body> => (await request(path)).json();
  /** Sends a request, and waits for its result. */
  const run = async (path: string, body: unknown): Promise<Body> => {
    const answer = await post(path, body);
    if (answer.body.request_id === undefined) return answer.body;
    return (await post("retrieve_future", { request_id: answer.body.request_id })).body;
  };
  const { session_id } = await run("create_session", {});
  let models = 0;
  const create = async (lora_config: object = { rank: 2, seed: 3 }): Promise<Body> =>
    run("create_model", { session_id, model_seq_id: models++, base_model: "tiny", lora_config });
  const pass = async (model_id: string, route: "forward" | "forward_backward"): Promise<number[]> => {
    const json = passRequestToJson({ ...example, modelId: model_id, forwardOnly: route === "forward" });
    const { loss_fn_outputs } = await run(route, json);
    return loss_fn_outputs[0].logprobs.data;
  };
  const step = async (model_id: string, learning_rate = 0.01): Promise<void> => {
    await pass(model_id, "forward_backward");
    await run("optim_step", { model_id, adam_params: { learning_rate } });
  };
  const fromState = async (path: string, optimizer: boolean): Promise<string> => {
    const loaded = await run("load_weights", { session_id, model_seq_id: models++, path, optimizer });
    expect(loaded).toMatchObject({ type: "load_weights", path });
    return loaded.model_id;
  };
  return { service, request, post, get, run, create, pass, step, fromState };
}

const tokens = Int32Array.of(1, 5, 9, 2);
const example = {
  seqId: undefined,
  lossName: "cross_entropy",
  lossConfig: {},
  data: [
    {
      tokens,
      lossInputs: {
        target_tokens: vector(Int32Array.of(5, 9, 2, 7)),
        weights: vector(new Float32Array(4).fill(1)),
      },
    },
  ],
};

test("a new model from saved weights continues the training, with or without the optimizer's state", async () => {
  const { run, create, pass, step, fromState } = await connect("state");
  const { model_id } = await create();
  for (let i = 0; i < 3; i++) await step(model_id);
  const { path } = await run("save_weights", { model_id, path: "a" });
  const saved = await pass(model_id, "forward");
  const [whole, weights] = [await fromState(path, true), await fromState(path, false)];
  for (const id of [whole, weights]) expect(await pass(id, "forward")).toEqual(saved);
  for (const id of [model_id, whole, weights]) await step(id);
  const continued = await pass(model_id, "forward");
  expect(await pass(whole, "forward")).toEqual(continued);
  expect(await pass(weights, "forward")).not.toEqual(continued);
  // If the moments of earlier steps are dropped, the next step is the first one of a new optimizer.
  const [fresh, still] = [(await create()).model_id, (await create()).model_id];
  for (let i = 0; i < 3; i++) await step(still, 0);
  const { path: unchanged } = await run("save_weights", { model_id: still, path: "b" });
  const { model_id: other } = await create();
  await run("load_weights", { model_id: other, path: unchanged, optimizer: false });
  for (const id of [fresh, still, other]) await step(id);
  const first = await pass(fresh, "forward");
  expect(await pass(other, "forward")).toEqual(first);
  expect(await pass(still, "forward")).not.toEqual(first);
});

test("training runs and checkpoints are listed, described and deleted, also by a later server", async () => {
  const first = await connect("list");
  const { model_id } = await first.create({ rank: 4, train_mlp: false });
  const paths: string[] = [];
  for (const name of ["a", "b"]) paths.push((await first.run("save_weights", { model_id, path: name })).path);
  paths.push((await first.run("save_weights_for_sampler", { model_id, path: "s" })).path);
  const full = (await first.create({ rank: 0 })).model_id;
  const { checkpoints } = await first.get(`training_runs/${model_id}/checkpoints`);
  expect(checkpoints.map(({ tinker_path }: Body) => tinker_path)).toEqual(paths);
  expect(checkpoints[0]).toMatchObject({ checkpoint_id: "weights/a", checkpoint_type: "training", public: false });
  expect(checkpoints[2]).toMatchObject({ checkpoint_id: "sampler_weights/s", checkpoint_type: "sampler" });
  for (const { size_bytes, time } of checkpoints) {
    expect(size_bytes).toBeGreaterThan(1000);
    expect(Date.now() - Date.parse(time)).toBeLessThan(600_000);
  }
  expect(await first.get("training_runs")).toMatchObject({
    training_runs: [
      {
        ...{ training_run_id: model_id, base_model: "tiny", is_lora: true, lora_rank: 4 },
        last_checkpoint: { tinker_path: paths[1] },
        last_sampler_checkpoint: { tinker_path: paths[2] },
      },
      { training_run_id: full, is_lora: false, lora_rank: null, last_checkpoint: null },
    ],
    cursor: { offset: 0, limit: 20, total_count: 2 },
  });
  expect(await first.get("sessions")).toEqual({ sessions: [model_id.split(":")[0]] });
  expect(await first.get(`sessions/${model_id.split(":")[0]}`)).toMatchObject({ training_run_ids: [model_id, full] });

  const later = await connect("list");
  expect((await later.post("weights_info", { tinker_path: paths[0] })).body).toEqual({
    ...{ base_model: "tiny", is_lora: true, lora_rank: 4 },
    ...{ train_attn: true, train_mlp: false, train_unembed: false },
  });
  expect(await later.get("checkpoints?limit=1&offset=1")).toMatchObject({
    checkpoints: [{ tinker_path: paths[1] }],
    cursor: { offset: 1, limit: 1, total_count: 3 },
  });
  expect(await later.pass(await later.fromState(paths[1]!, true), "forward")).toHaveLength(4);
  const route = `training_runs/${model_id}/checkpoints/weights/a`;
  expect((await later.request(route, { method: "DELETE" })).status).toBe(204);
  expect((await later.request(route, { method: "DELETE" })).status).toBe(404);
  expect((await later.post("weights_info", { tinker_path: paths[0] })).status).toBe(404);
  expect((await later.post("weights_info", { tinker_path: "tinker://a/weights/.." })).status).toBe(400);
  expect((await later.request("training_runs/none")).status).toBe(404);
  expect((await later.request("training_runs?limit=none")).status).toBe(422);
  expect((await later.request(`${route}/publish`, { method: "POST" })).status).toBe(400);
});

test("external weights download file by file, and only they do", async () => {
  const { run, create, step, post, request, get, service } = await connect("external");
  const { model_id } = await create();
  await step(model_id);
  const saved = await run("save_weights_external", { model_id, path: "e", ttl_seconds: 3600 });
  expect(saved).toMatchObject({ path: `tinker://${model_id}/external_weights/e`, size_bytes: expect.any(Number) });
  const route = `training_runs/${model_id}/checkpoints/external_weights/e`;
  const { urls, expires } = await get(`${route}/external_weights_urls`);
  expect(Date.parse(expires)).toBeGreaterThan(Date.now() + 800_000);
  const { folder: stored } = await service.checkpoints.find(saved.path);
  expect(Object.keys(urls).toSorted()).toEqual((await readdir(stored)).toSorted());
  let total = 0;
  for (const [name, url] of Object.entries<string>(urls)) {
    const answer = await request(new URL(url).pathname.replace("/api/v1/", ""));
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get("content-length")).toBe(String(bytes.length));
    expect(bytes).toEqual(await readFile(join(stored, name)));
    total += bytes.length;
  }
  expect(total).toBe(saved.size_bytes);
  const [listed] = (await get(`training_runs/${model_id}/checkpoints`)).checkpoints;
  expect(listed).toMatchObject({ checkpoint_id: "external_weights/e", checkpoint_type: "external" });
  expect(await run("save_weights_external", { model_id, path: "e" })).toMatchObject({
    error: expect.stringContaining("exists"),
  });
  const sealed = { model_id, path: "f", age_encryption_recipients: ["age1"] };
  expect((await post("save_weights_external", sealed)).status).toBe(400);
  expect((await post("save_weights_external", { model_id, path: "../f" })).status).toBe(422);
  await run("save_weights_for_sampler", { model_id, path: "s" });
  const sampler = `training_runs/${model_id}/checkpoints/sampler_weights/s/external_weights_urls`;
  expect((await request(sampler)).status).toBe(400);
  const sample = { model_path: saved.path, prompt: { chunks: [{ tokens: [1] }] }, sampling_params: { max_tokens: 1 } };
  expect((await post("asample", sample)).status).toBe(400);
  await request(route, { method: "DELETE" });
  expect((await request(new URL(Object.values<string>(urls)[0]!).pathname.replace("/api/v1/", ""))).status).toBe(404);
  expect((await request(`${route}/external_weights_urls`)).status).toBe(404);
});

test("a checkpoint is deleted at its expiry, which can be changed", async () => {
  const { run, create, request, get, service } = await connect("expiry");
  const { model_id } = await create();
  const paths = [];
  for (const name of ["a", "b", "c"]) {
    paths.push((await run("save_weights", { model_id, path: name, ttl_seconds: 3600 })).path);
  }
  const folders = await Promise.all(paths.map(async (path) => (await service.checkpoints.find(path)).folder));
  const setTtl = (name: string, ttl_seconds: unknown) =>
    request(`training_runs/${model_id}/checkpoints/weights/${name}/ttl`, {
      method: "PUT",
      body: JSON.stringify({ ttl_seconds }),
    });
  expect((await setTtl("b", null)).status).toBe(204);
  expect((await setTtl("c", 7200)).status).toBe(204);
  for (const ttl of [3599, 315_360_001, "x"]) expect((await setTtl("c", ttl)).status).toBe(422);
  expect((await setTtl("none", 3600)).status).toBe(404);
  const listed = async (): Promise<Body[]> => (await get(`training_runs/${model_id}/checkpoints`)).checkpoints;
  const [a, b] = await listed();
  expect([Date.parse(a.expires_at) - Date.parse(a.time), b.expires_at]).toEqual([3_600_000, null]);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect((await listed()).map(({ checkpoint_id }) => checkpoint_id)).toEqual(["weights/b", "weights/c"]);
  await expect(readdir(folders[0]!)).rejects.toThrow(/ENOENT/);
  vi.setSystemTime(Date.now() + 3_600_000);
  expect((await listed()).map(({ checkpoint_id }) => checkpoint_id)).toEqual(["weights/b"]);
});

test("an archive is an adapter for the engine, by bytes or by a link that expires", async () => {
  const { run, create, pass, step, request, get } = await connect("archive");
  const { model_id } = await create({ rank: 2, seed: 3, train_attn: false });
  for (let i = 0; i < 3; i++) await step(model_id);
  await run("save_weights_for_sampler", { model_id, path: "s" });
  const route = `training_runs/${model_id}/checkpoints/sampler_weights/s/archive`;
  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
  const archive = await bytesOf(await request(route));
  const json = await request(route, { headers: { accept: "application/json" } });
  const { url, expires } = (await json.json()) as Body;
  const link = new URL(url).pathname.replace("/api/v1/", "");
  expect(await bytesOf(await request(link))).toEqual(archive);
  expect(Date.parse(expires)).toBeGreaterThan(Date.now() + 800_000);
  const files = await readTar(archive);
  expect([...files.keys()].toSorted()).toEqual(
    expect.arrayContaining(["adapter_config.json", "adapter_model.safetensors", "checkpoint_complete"]),
  );
  const config = JSON.parse(files.get("adapter_config.json")!.toString());
  expect(config).toMatchObject({ r: 2, target_modules: ["gate_proj", "up_proj", "down_proj"] });
  const adapter = join(folder, "extracted");
  await mkdir(adapter);
  for (const [name, bytes] of files) await writeFile(join(adapter, name), bytes);
  const model = await backend.openModel({
    source: { type: "pretrained", path: adapter, base: source.path, chatTemplate: "none" },
    trainable: { type: "frozen" },
  });
  const datum = { tokens, targets: Int32Array.of(5, 9, 2, 7), lossMask: new Float32Array(4).fill(1) };
  const [own] = await model.forward([datum], { outputs: ["logprobs"] });
  const trained = await pass(model_id, "forward");
  for (const [t, logprob] of own!.logprobs!.entries()) expect(logprob).toBeCloseTo(trained[t]!, 5);
  await model.close();
  expect((await request("downloads/guessed")).status).toBe(404);
  expect(await get(`training_runs/${model_id}/checkpoints/weights/s/archive`)).toMatchObject({
    detail: expect.stringContaining("no checkpoint"),
  });
  vi.useFakeTimers({ now: Date.now() + 901_000, toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  expect((await request(link)).status).toBe(404);
});

test("a later server samples saved weights while they exist", async () => {
  const first = await connect("sampled");
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
  const sampling_params = { max_tokens: 6, seed: 1, stop: [] };
  const paths: string[] = [];
  const results: Body[] = [];
  for (const rank of [2, 0]) {
    const { model_id } = await first.create({ rank });
    await first.step(model_id);
    const { path } = await first.run("save_weights_for_sampler", { model_id, path: "s" });
    paths.push(path);
    results.push(await first.run("asample", { model_path: path, prompt, sampling_params }));
  }
  expect(results[0]).not.toEqual(results[1]);
  const later = await connect("sampled");
  for (const [i, path] of paths.entries()) {
    const { sequences } = await later.run("asample", { model_path: path, prompt, sampling_params });
    expect(sequences[0].tokens).toEqual(results[i].sequences[0].tokens);
    for (const [t, logprob] of sequences[0].logprobs.entries()) {
      expect(logprob).toBeCloseTo(results[i].sequences[0].logprobs[t], 4);
    }
    expect(await later.service.sampledModel(path)).toBeDefined();
  }
  const [, , model, kind, name] = paths[0]!.split("/");
  await later.request(`training_runs/${model}/checkpoints/${kind}/${name}`, { method: "DELETE" });
  expect((await later.post("asample", { model_path: paths[0], prompt, sampling_params })).status).toBe(404);
  expect(await later.service.sampledModel(paths[0]!)).toBeUndefined();
});

test("weights that are saved again under their name replace those in memory", async () => {
  // Without samplers in memory, each sample reads the checkpoint.
  const { create, step, run } = await connect("again", { maxSamplers: 0 });
  const { model_id } = await create();
  const sample = async (): Promise<number[]> => {
    const { path } = await run("save_weights_for_sampler", { model_id, path: "s" });
    const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
    const sampling_params = { max_tokens: 6, seed: 1, stop: [] };
    return (await run("asample", { model_path: path, prompt, sampling_params })).sequences[0].logprobs;
  };
  const before = await sample();
  expect(await sample()).toEqual(before);
  await step(model_id);
  expect(await sample()).not.toEqual(before);
});

test("an adapter without layers, other optimizers and incomplete loads are refused", async () => {
  const { post, create, run } = await connect("refused");
  const { model_id } = await create();
  const session_id = model_id.split(":")[0];
  const { path } = await run("save_weights", { model_id, path: "a" });
  const lora_config = { rank: 2, train_attn: false, train_mlp: false };
  const refused: [string, object, number][] = [
    ["create_model", { session_id, model_seq_id: 9, base_model: "tiny", lora_config }, 400],
    ["load_weights", { path }, 400],
    ["load_weights", { path, session_id: "none", model_seq_id: 1 }, 404],
    ["load_weights", { path: "tinker://none/weights/a", session_id, model_seq_id: 1 }, 404],
    ["load_weights", { path, session_id, model_seq_id: 1, base_model: "other" }, 400],
    ["load_weights", { path, session_id, model_seq_id: 1, optimizer_config: { type: "dimuon" } }, 400],
    ["load_weights", { path: path.replace("/weights/", "/sampler_weights/"), model_id }, 400],
  ];
  for (const [route, body, status] of refused) {
    expect({ body, status: (await post(route, body)).status }).toEqual({ body, status });
  }
});
