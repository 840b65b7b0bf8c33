import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import type { Hono } from "hono";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { SampleResponseSchema } from "../../../trainers/tinker/generated/tinker_public/tinker_public_pb.ts";
import { floatsOf, intsOf, longsOf } from "../../../trainers/tinker/protocol/bytes.ts";
import {
  type PassRequest,
  passRequestToBytes,
  passRequestToJson,
  protobufType,
} from "../../../trainers/tinker/protocol/pass-request.ts";
import {
  type PassResult,
  passResultFromBytes,
  passResultFromJson,
} from "../../../trainers/tinker/protocol/pass-result.ts";
import {
  noLogprob,
  sampleResultFromBytes,
  sampleResultFromJson,
} from "../../../trainers/tinker/protocol/sample-result.ts";
import { vector } from "../../../trainers/tinker/protocol/tensor.ts";
import type { Completion } from "../../../trainers/tinker/service/completion-queue.ts";
import type { TinkerServiceOptions } from "../../../trainers/tinker/service/service-options.ts";
import { tinkerApp } from "../../../trainers/tinker/service/tinker-app.ts";
import { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { changedBackend } from "../../trainers/changed-backend.ts";
import { tinyConfig } from "../onnx/tiny-config.ts";
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
type Answer = { readonly status: number; readonly body: any };

/** A client of the raw routes, with one session and one model. */
interface Client {
  readonly service: TinkerService;
  readonly session: string;
  readonly model: string;
  post(route: string, body: unknown): Promise<Answer>;
  postBytes(bytes: Uint8Array, encoding?: string): Promise<Answer>;
  /** The result of a promise in protobuf if `accept` is set, else the JSON. */
  result(
    promise: Answer,
    accept?: string,
  ): Promise<{ readonly status: number; readonly bytes: Uint8Array; readonly type: string }>;
  json(promise: Answer): Promise<Answer["body"]>;
}

async function connect(options: Partial<TinkerServiceOptions> & { rank?: number; app?: object } = {}): Promise<Client> {
  const { rank = 2, app: appOptions, ...rest } = options;
  const service = new TinkerService({
    backend,
    source,
    names: ["tiny"],
    folder: join(folder, "saved"),
    gapMs: 50,
    ...rest,
  });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const app: Hono = tinkerApp({ service, pollMs: 30_000, ...appOptions });
  const send = async (route: string, init: RequestInit): Promise<Answer> => {
    const response = await app.request(`/api/v1/${route}`, { method: "POST", ...init });
    return { status: response.status, body: await response.json() };
  };
  const post = (route: string, body: unknown): Promise<Answer> => send(route, { body: JSON.stringify(body) });
  const result: Client["result"] = async ({ body }, accept) => {
    const headers = accept === undefined ? {} : { accept };
    const init = { method: "POST", headers, body: JSON.stringify({ request_id: body.request_id }) };
    const response = await app.request("/api/v1/retrieve_future", init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, bytes, type: response.headers.get("content-type") ?? "" };
  };
  const json: Client["json"] = async (promise) => JSON.parse(Buffer.from((await result(promise)).bytes).toString());
  const session = (await post("create_session", {})).body.session_id;
  const lora_config = { rank, seed: 3 };
  const created = await post("create_model", { session_id: session, model_seq_id: 0, base_model: "tiny", lora_config });
  const model = created.body.model_id;
  await service.futures.settled();
  const postBytes: Client["postBytes"] = (bytes, encoding) =>
    send("forward_backward", {
      body: bytes as Uint8Array<ArrayBuffer>,
      headers: { "content-type": protobufType, ...(encoding === undefined ? {} : { "content-encoding": encoding }) },
    });
  return { service, session, model, post, postBytes, result, json };
}

const tokens = Int32Array.of(1, 5, 9, 2, 7);
const targets = Int32Array.of(5, 9, 2, 7, 3);

function crossEntropy(modelId: string, seqId?: number): PassRequest {
  const lossInputs = { target_tokens: vector(targets), weights: vector(Float32Array.of(0, 1, 0.5, -0.25, 1)) };
  return {
    modelId,
    seqId,
    lossName: "cross_entropy",
    lossConfig: {},
    data: [{ tokens, lossInputs }],
    forwardOnly: false,
  };
}

const step = (model_id: string, seq_id?: number) => ({ model_id, seq_id, adam_params: { learning_rate: 0.01 } });

const ratioInputs = {
  target_tokens: vector(targets),
  logprobs: vector(Float32Array.of(0, -6, -5, -5.5, -8)),
  advantages: vector(Float32Array.of(0, 1, -1, 2, -0.5)),
};

/** The engine's own term for each loss. */
const cases = [
  ["cross_entropy", {}, { type: "policyGradient" }],
  ["importance_sampling", {}, { type: "importanceSampling" }],
  ["ppo", {}, { type: "ppo", clipLow: 1 - 0.8, clipHigh: 1.2 - 1 }],
  ["ppo", { clip_low_threshold: 0.5 }, { type: "ppo", clipLow: 0.5, clipHigh: 1.2 - 1 }],
  ["cispo", {}, { type: "cispo", clipLow: 1, clipHigh: 3 }],
] as const;

test.each(
  cases,
)("%s %j has the loss, the gradient and the log-probabilities of the engine", async (lossName, lossConfig, term) => {
  const client = await connect();
  await using model = await openModel();
  const datum = { tokens, targets, lossMask: new Float32Array(5).fill(1) };
  const [current] = await model.forward([datum], { outputs: ["logprobs"] });
  // The ratios in the middle are beyond every default threshold: 0.8 and 1.2 of PPO, and 4 of CISPO.
  const ratios = [1, 1.25, 0.75, 5, 1.05];
  const logprobs = vector(current!.logprobs!.map((logprob, t) => logprob - Math.log(ratios[t]!)));
  const inputs: PassRequest["data"][number]["lossInputs"] =
    lossName === "cross_entropy" ? crossEntropy("").data[0]!.lossInputs : { ...ratioInputs, logprobs };
  const request = { ...crossEntropy(client.model, 1), lossName, lossConfig, data: [{ tokens, lossInputs: inputs }] };
  const promise = await client.postBytes(passRequestToBytes(request));
  const served = passResultFromBytes((await client.result(promise, protobufType)).bytes);
  const { metrics } = await client.json(await client.post("optim_step", step(client.model, 2)));

  const own = await model.forwardBackward(
    [
      {
        ...datum,
        advantages: Float32Array.from((inputs.weights ?? inputs.advantages)!.data),
        behaviourLogprobs: Float32Array.from(logprobs.data),
      },
    ],
    [term],
  );
  expect(served.metrics["loss:sum"]).toBe(own.loss);
  expect([...served.outputs[0]!.logprobs!.data]).toEqual([...own.logprobs[0]!]);
  const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-12, weightDecay: 0 };
  const { gradientNorm } = await model.optimStep(adam, { stepId: 1 });
  expect(gradientNorm).toBeGreaterThan(0);
  expect(metrics["grad_norm:mean"]).toBe(gradientNorm);
  // The weights after the step are equal too.
  const forward = { ...crossEntropy(client.model, 3), forwardOnly: true };
  const after = passResultFromJson(await client.json(await client.post("forward", passRequestToJson(forward))));
  const [ownAfter] = await model.forward([{ tokens, targets, lossMask: new Float32Array(5).fill(1) }], {
    outputs: ["logprobs"],
  });
  expect([...after.outputs[0]!.logprobs!.data]).toEqual([...ownAfter!.logprobs!]);
});

/** Numeric losses of log-probabilities l and q, advantages A and a mask. */
const linearized = [
  [
    "dro",
    { beta: 0.3 },
    (l: number[], q: number[], A: number[]) => -l.reduce((s, x, t) => s + x * A[t]! - 0.15 * (x - q[t]!) ** 2, 0),
  ],
  [
    "gspo",
    { clip_low_threshold: 0.5, clip_high_threshold: 1e6 },
    (l: number[], q: number[], A: number[], at: number[]) => {
      // The value of the ratio is that at the current weights, and each token has its own gradient.
      const mean = at.slice(1).reduce((s, x, i) => s + x - q[i + 1]!, 0) / 4;
      return -l.reduce((s, x, t) => s + Math.exp(mean + x - at[t]!) * A[t]!, 0);
    },
  ],
] as const;

test.each(
  linearized,
)("%s has the value of its formula, and the gradient of its derivatives", async (lossName, lossConfig, formula) => {
  const client = await connect();
  const lossInputs = { ...ratioInputs, sequence_ratio_mask: vector(Float32Array.of(0, 1, 1, 1, 1)) };
  const request = { ...crossEntropy(client.model, 1), lossName, lossConfig, data: [{ tokens, lossInputs }] };
  const promise = await client.postBytes(passRequestToBytes(request));
  const served = passResultFromBytes((await client.result(promise, protobufType)).bytes);
  const { metrics } = await client.json(await client.post("optim_step", step(client.model, 2)));
  const l = [...served.outputs[0]!.logprobs!.data];
  const [q, A] = [[...ratioInputs.logprobs.data], [...ratioInputs.advantages.data]];
  expect(served.metrics["loss:sum"]).toBeCloseTo(formula(l, q, A, l), 4);
  const moved = (t: number, by: number): number =>
    formula(
      l.map((x, i) => (i === t ? x + by : x)),
      q,
      A,
      l,
    );
  const advantages = Float32Array.from(l, (_, t) => -(moved(t, 1e-4) - moved(t, -1e-4)) / 2e-4);
  await using model = await openModel();
  await model.forwardBackward(
    [{ tokens, targets, lossMask: new Float32Array(5).fill(1), advantages }],
    [{ type: "policyGradient" }],
  );
  const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-12, weightDecay: 0 };
  const { gradientNorm } = await model.optimStep(adam, { stepId: 1 });
  expect(metrics["grad_norm:mean"] / gradientNorm).toBeCloseTo(1, 4);
});

async function openModel() {
  const model = await backend.openModel({ source, trainable: { type: "lora", lora: { rank: 2, seed: 3 } } });
  return Object.assign(model, { [Symbol.asyncDispose]: () => model.close() });
}

test("both encodings, and compressed protobuf, give equal results", async () => {
  const client = await connect();
  const results: PassResult[] = [];
  const bytes = passRequestToBytes({ ...crossEntropy(client.model), forwardOnly: true });
  const promises = [
    await client.post("forward", passRequestToJson({ ...crossEntropy(client.model), forwardOnly: true })),
    await client.postBytes(bytes),
    await client.postBytes(zstdCompressSync(bytes), "zstd"),
  ];
  for (const promise of promises) {
    expect(promise).toMatchObject({ status: 200 });
    results.push(passResultFromJson(await client.json(promise)));
    results.push(passResultFromBytes((await client.result(promise, protobufType)).bytes));
  }
  for (const result of results) expect(result).toEqual(results[0]);
});

test("a request that is sent again returns the same promise, and runs once", async () => {
  const client = await connect();
  const request = passRequestToJson(crossEntropy(client.model, 1));
  const [first, again] = [
    await client.post("forward_backward", request),
    await client.post("forward_backward", request),
  ];
  expect(again).toEqual(first);
  const once = await client.json(await client.post("optim_step", step(client.model, 2)));
  expect(await client.json(await client.post("optim_step", step(client.model, 2)))).toEqual(once);
  const other = await connect();
  await other.post("forward_backward", passRequestToJson(crossEntropy(other.model, 1)));
  expect(await other.json(await other.post("optim_step", step(other.model, 2)))).toEqual(once);
  const changed = await client.post("optim_step", { ...step(client.model, 2), adam_params: { learning_rate: 1 } });
  expect(changed.status).toBe(409);
});

test("requests run in the order of their sequence ids", async () => {
  const client = await connect({ gapMs: 60_000 });
  const late = await client.post("optim_step", step(client.model, 2));
  const early = await client.post("forward_backward", passRequestToJson(crossEntropy(client.model, 1)));
  expect((await client.json(late)).metrics["grad_norm:mean"]).toBeGreaterThan(0);
  expect((await client.result(early)).status).toBe(200);
});

test("a skipped sequence id is waited for until the limit, and refused afterwards", async () => {
  const client = await connect({ gapMs: 20 });
  const forward = (seq: number) => passRequestToJson({ ...crossEntropy(client.model, seq), forwardOnly: true });
  expect((await client.result(await client.post("forward", forward(3)))).status).toBe(200);
  expect((await client.post("forward", forward(1))).status).toBe(409);
});

test("a running request is polled, and an expired result is gone", async () => {
  const client = await connect({ gapMs: 60_000, resultMs: 0, app: { pollMs: 5 } });
  const waiting = await client.post("optim_step", step(client.model, 2));
  const polled = await client.result(waiting);
  expect(polled.status).toBe(408);
  expect(JSON.parse(Buffer.from(polled.bytes).toString())).toMatchObject({ type: "try_again", queue_state: "active" });
  const first = await client.post("forward_backward", passRequestToJson(crossEntropy(client.model, 1)));
  await client.service.futures.settled();
  expect((await client.result(first)).status).toBe(410);
  expect((await client.post("retrieve_future", { request_id: "unknown:1" })).status).toBe(404);
});

test("samples have the engine's log-probabilities, in both encodings", async () => {
  const client = await connect();
  const saved = await client.json(await client.post("save_weights_for_sampler", { model_id: client.model, seq_id: 1 }));
  const request = {
    ...{ sampling_session_id: saved.sampling_session_id, seq_id: 1, num_samples: 3 },
    prompt: { chunks: [{ type: "encoded_text", tokens: [1, 5] }] },
    sampling_params: { max_tokens: 4, seed: 7, stop: [] },
  };
  const promise = await client.post("asample", request);
  expect(promise.body.sample_sequence_ids).toHaveLength(3);
  expect(await client.post("asample", request)).toEqual(promise);
  const { sequences } = sampleResultFromJson(await client.json(promise));
  expect(sampleResultFromBytes((await client.result(promise, protobufType)).bytes).sequences).toEqual(sequences);
  await using model = await openModel();
  for (const sequence of sequences) {
    expect(sequence.tokens).toHaveLength(4);
    const ids = [1, 5, ...sequence.tokens];
    const datum = {
      tokens: Int32Array.from(ids.slice(0, -1)),
      targets: Int32Array.from(ids.slice(1)),
      lossMask: new Float32Array(5).fill(1),
    };
    const [own] = await model.forward([datum], { outputs: ["logprobs"] });
    for (const [i, logprob] of sequence.logprobs!.entries()) expect(logprob).toBeCloseTo(own!.logprobs![i + 1]!, 4);
  }
});

test("the most likely tokens of samples are those of forward, in both encodings", async () => {
  const client = await connect();
  const { body } = await client.post("create_sampling_session", {
    ...{ session_id: client.session, sampling_session_seq_id: 0, base_model: "tiny" },
  });
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
  const request = {
    ...{ sampling_session_id: body.sampling_session_id, prompt, num_samples: 2, topk_sample_logprobs: 3 },
    sampling_params: { max_tokens: 4, seed: 7, stop: [], temperature: 2 },
  };
  const promise = await client.post("asample", request);
  // biome-ignore lint/suspicious/noExplicitAny: the answer in JSON.
  const { sequences } = (await client.json(promise)) as any;
  const message = fromBinary(SampleResponseSchema, (await client.result(promise, protobufType)).bytes);
  await using model = await openModel();
  const sampler = await model.snapshot();
  const vocabulary = tinyConfig.vocab_size;
  for (const [i, { tokens, topk_logprobs: tops }] of sequences.entries()) {
    const matrices = message.sequences[i]!.topkSampledLogprobs!;
    expect([matrices.k, matrices.length]).toEqual([3, 4]);
    const pairs = tops.flat();
    expect([...intsOf(matrices.tokenIds)]).toEqual(pairs.map(([id]: [number]) => id));
    expect([...floatsOf(matrices.logprobs)]).toEqual(pairs.map(([, logprob]: [number, number]) => logprob));
    const scores = await sampler.score!({ ids: [1, 5, ...tokens], last: 4, topK: vocabulary });
    for (const [place, top] of tops.entries()) {
      const row = scores.topLogprobs.subarray(place * vocabulary, (place + 1) * vocabulary);
      const total = row.reduce((sum, logprob) => sum + Math.exp(logprob / 2), 0);
      const expected = [...row.subarray(0, 3)].map((logprob) => logprob / 2 - Math.log(total));
      expect(top.map(([id]: [number]) => id)).toEqual([
        ...scores.topIds.subarray(place * vocabulary, place * vocabulary + 3),
      ]);
      for (const [k, [, logprob]] of top.entries()) expect(logprob).toBeCloseTo(expected[k]!, 4);
    }
  }
  await sampler.close();
  // Top-k leaves two tokens: the third place is empty.
  const few = { ...request, sampling_params: { ...request.sampling_params, top_k: 2 } };
  const cut = await client.post("asample", few);
  // biome-ignore lint/suspicious/noExplicitAny: the answer in JSON.
  const answer = (await client.json(cut)) as any;
  for (const top of answer.sequences[0].topk_logprobs) {
    expect(top).toHaveLength(2);
    expect(Math.exp(top[0][1]) + Math.exp(top[1][1])).toBeCloseTo(1, 5);
  }
  const { bytes } = await client.result(cut, protobufType);
  const [first] = fromBinary(SampleResponseSchema, bytes).sequences;
  expect(floatsOf(first!.topkSampledLogprobs!.logprobs)[2]).toBe(noLogprob);
});

test("other tokens of a prompt are scored as forward scores them, in both layouts and encodings", async () => {
  const client = await connect();
  const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5, 9] }] };
  const request = { base_model: "tiny", prompt, sampling_params: { max_tokens: 1 } };
  const dense = { data: [5, -1, 9, 4], dtype: "int64", shape: [2, 2] };
  const sparse = {
    ...{ data: [9, 4, -1], dtype: "int64", shape: [2, 9] },
    ...{ sparse_crow_indices: [0, 0, 3], sparse_col_indices: [1, 4, 8] },
  };
  await using model = await openModel();
  const logprobOf = async (place: number, id: number): Promise<number> => {
    const ids = [1, 5, 9].with(place, id);
    const datum = {
      tokens: Int32Array.from(ids.slice(0, place)),
      targets: Int32Array.from(ids.slice(1, place + 1)),
      lossMask: new Float32Array(place).fill(1),
    };
    return (await model.forward([datum], { outputs: ["logprobs"] }))[0]!.logprobs!.at(-1)!;
  };
  const expected = {
    dense: [await logprobOf(1, 5), 0, await logprobOf(2, 9), await logprobOf(2, 4)],
    sparse: [await logprobOf(2, 9), await logprobOf(2, 4), 0],
  };
  const own = { prompt_logprobs: true, prompt_logprobs_last_n: 1, topk_prompt_logprobs: 2 };
  for (const [tensor, values, other] of [
    [dense, expected.dense, {}],
    [dense, expected.dense, own],
    [sparse, expected.sparse, own],
  ] as const) {
    const promise = await client.post("asample", { ...request, ...other, target_prompt_logprobs: tensor });
    // biome-ignore lint/suspicious/noExplicitAny: the answer in JSON.
    const answer = (await client.json(promise)) as any;
    const { data, ...layout } = answer.target_prompt_logprobs;
    const { data: _, ...asked } = tensor;
    expect(layout).toEqual({ ...asked, dtype: "float32" });
    for (const [i, value] of values.entries()) expect(data[i]).toBeCloseTo(value, 5);
    const message = fromBinary(SampleResponseSchema, (await client.result(promise, protobufType)).bytes);
    const { encoding, shape } = message.targetPromptLogprobs!;
    expect(shape.map(Number)).toEqual(tensor.shape);
    if (encoding.case === "dense") expect([...floatsOf(encoding.value)]).toEqual(data);
    else {
      expect([...floatsOf(encoding.value!.values)]).toEqual(data);
      expect([...longsOf(encoding.value!.crowIndices)]).toEqual(sparse.sparse_crow_indices);
      expect([...longsOf(encoding.value!.colIndices)]).toEqual(sparse.sparse_col_indices);
    }
    if (other === own) {
      expect(answer.prompt_logprobs).toEqual([null, null, expect.closeTo(expected.dense[2]!, 5)]);
      expect(answer.topk_prompt_logprobs.slice(0, 2)).toEqual([null, null]);
    }
  }
  const outside = { data: [99_999, 1], dtype: "int64", shape: [2, 1] };
  const refused = await client.json(await client.post("asample", { ...request, target_prompt_logprobs: outside }));
  expect(refused).toMatchObject({ category: "user", error: expect.stringContaining("99999") });
});

test("the log-probabilities of a prompt are those of forward, in both encodings", async () => {
  const client = await connect();
  await client.post("forward_backward", passRequestToJson(crossEntropy(client.model, 1)));
  await client.post("optim_step", step(client.model, 2));
  const saved = await client.json(await client.post("save_weights_for_sampler", { model_id: client.model, seq_id: 3 }));
  const forward = { ...crossEntropy(client.model, 4), forwardOnly: true };
  const own = passResultFromJson(await client.json(await client.post("forward", passRequestToJson(forward))));
  const logprobs = [...own.outputs[0]!.logprobs!.data];
  const request = {
    sampling_session_id: saved.sampling_session_id,
    prompt: { chunks: [{ type: "encoded_text", tokens: [...tokens, 3] }] },
    sampling_params: { max_tokens: 1 },
    prompt_logprobs: true,
    topk_prompt_logprobs: 4,
  };
  const promise = await client.post("asample", request);
  const result = sampleResultFromJson(await client.json(promise));
  expect(sampleResultFromBytes((await client.result(promise, protobufType)).bytes)).toEqual(result);
  const [first, ...rest] = result.promptLogprobs!;
  expect(first).toBeNaN();
  expect(rest).toHaveLength(5);
  for (const [t, logprob] of rest.entries()) expect(logprob).toBeCloseTo(logprobs[t]!, 5);
  const { k, ids, logprobs: tops } = result.topPromptTokens!;
  expect([k, ids.length, tops.length]).toEqual([4, 24, 24]);
  expect([...ids.slice(0, 4), ...tops.slice(0, 4)]).toEqual([0, 0, 0, 0, ...Array(4).fill(noLogprob)]);
  // Each of the most likely tokens has the log-probability that forward gives it as a target.
  for (let place = 1; place <= 5; place++) {
    for (let i = 0; i < 4; i++) {
      const changed = targets.slice();
      changed[place - 1] = ids[place * 4 + i]!;
      const weights = vector(new Float32Array(5).fill(1));
      const data = [{ tokens, lossInputs: { target_tokens: vector(changed), weights } }];
      const asked = passRequestToJson({ ...forward, seqId: undefined, data });
      const scored = passResultFromJson(await client.json(await client.post("forward", asked)));
      expect(tops[place * 4 + i]).toBeCloseTo(scored.outputs[0]!.logprobs!.data[place - 1]!, 5);
      if (i > 0) expect(tops[place * 4 + i]).toBeLessThanOrEqual(tops[place * 4 + i - 1]!);
    }
    expect(tops[place * 4]).toBeGreaterThanOrEqual(logprobs[place - 1]! - 1e-5);
  }
  const suffix = { ...request, prompt_logprobs_last_n: 2 };
  const { promptLogprobs, topPromptTokens } = sampleResultFromJson(
    await client.json(await client.post("asample", suffix)),
  );
  expect([...promptLogprobs!.slice(0, 4)].every(Number.isNaN)).toBe(true);
  expect(promptLogprobs!.slice(4)).toEqual(result.promptLogprobs!.slice(4));
  expect(topPromptTokens!.ids.slice(16)).toEqual(ids.slice(16));
  expect(topPromptTokens!.logprobs.slice(0, 16).every((value) => value === noLogprob)).toBe(true);
});

test("a client reads the ended requests of a sampler by a cursor, separately for each copy", async () => {
  const client = await connect({ app: { pollMs: 5 } });
  const saving = await client.post("save_weights_for_sampler", { model_id: client.model, seq_id: 1 });
  await client.service.futures.settled();
  const { sampling_session_id } = await client.json(saving);
  const sample = (seq_id: number, max_tokens = 2) =>
    client.post("asample", {
      ...{ sampling_session_id, seq_id, num_samples: 1, sampling_params: { max_tokens, seed: 7, stop: [] } },
      prompt: { chunks: [{ type: "encoded_text", tokens: [seq_id === 2 ? 1_000_000 : 1] }] },
    });
  const poll = async (prev_cursor: number, more: object = {}, clone = 0) => {
    const target = { type: "sampling_session", sampling_session_id, cloned_sampler_id: clone };
    return (await client.post("retrieve_futures", { target, prev_cursor, ...more })).body;
  };
  expect(await poll(0)).toEqual({ completions: [], cursor: 0 });
  const sent = [await sample(1), await sample(2), await sample(1_000_000_001)];
  await client.service.futures.settled();
  const [finished, failed, copied] = sent.map(({ body }) => body.request_id as string);
  const first = await poll(0);
  expect(first.cursor).toBe(2);
  expect(first.completions.toSorted((a: Completion, b: Completion) => b.state.localeCompare(a.state))).toEqual([
    { state: "finished", request_id: finished },
    { state: "failed", request_id: failed },
  ]);
  // An answer that was lost is read again.
  expect(await poll(0)).toEqual(first);
  expect(await poll(0, {}, 1)).toEqual({ completions: [{ state: "finished", request_id: copied }], cursor: 1 });
  expect(await poll(2, { timeout: 0, retrieved_request_ids: [finished] })).toEqual({ completions: [], cursor: 2 });
  expect((await client.result(sent[0]!)).status).toBe(410);
  expect((await client.result(sent[1]!)).status).toBe(200);
  expect(await sample(1)).toEqual(sent[0]);
  const unknown = { target: { type: "sampling_session", sampling_session_id: "none" } };
  expect((await client.post("retrieve_futures", unknown)).status).toBe(404);
});

test("inflight samplers have the weights of the last inflight save, and snapshots do not change", async () => {
  const client = await connect();
  const save = async (seq_id: number, kind?: string): Promise<string> => {
    const number = { sampling_session_seq_id: seq_id, ...(kind === undefined ? {} : { kind }) };
    const saved = await client.post("save_weights_for_sampler", { model_id: client.model, seq_id, ...number });
    return (await client.json(saved)).sampling_session_id;
  };
  const sample = async (sampling_session_id: string): Promise<number[]> => {
    const sampling_params = { max_tokens: 4, seed: 7, stop: [] };
    const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
    const promise = await client.post("asample", { sampling_session_id, num_samples: 1, sampling_params, prompt });
    return (await client.json(promise)).sequences[0].logprobs;
  };
  const [snapshot, inflight] = [await save(1), await save(2, "inflight")];
  const before = await sample(snapshot);
  expect(await sample(inflight)).toEqual(before);
  await client.post("forward_backward", passRequestToJson(crossEntropy(client.model, 3)));
  await client.post("optim_step", step(client.model, 4));
  const running = Promise.all(Array.from({ length: 4 }, () => sample(inflight)));
  const newer = await save(5, "inflight");
  expect(await running).toHaveLength(4);
  const after = await sample(newer);
  expect(after).not.toEqual(before);
  expect(await sample(inflight)).toEqual(after);
  expect(await sample(snapshot)).toEqual(before);
});

test("each copy of a sampling client gets a different number", async () => {
  const client = await connect();
  const body = { model_id: client.model, seq_id: 1 };
  const { sampling_session_id } = await client.json(await client.post("save_weights_for_sampler", body));
  const other = { session_id: client.session, sampling_session_seq_id: 7, base_model: "tiny" };
  const { body: second } = await client.post("create_sampling_session", other);
  const join = async (id: string) => (await client.post("join_sampling_session", { sampling_session_id: id })).body;
  expect(await join(sampling_session_id)).toEqual({ type: "join_sampling_session", client_counter: 1 });
  expect(await join(sampling_session_id)).toMatchObject({ client_counter: 2 });
  expect(await join(second.sampling_session_id)).toMatchObject({ client_counter: 1 });
  expect((await client.post("join_sampling_session", { sampling_session_id: "none" })).status).toBe(404);
  expect((await client.post("client/config", {})).body).toMatchObject({ sample_join_sampling_session: true });
});

test("weights are saved and loaded with the state of their optimizer", async () => {
  const client = await connect();
  const forward = (seq: number) => passRequestToJson({ ...crossEntropy(client.model, seq), forwardOnly: true });
  const { path } = await client.json(
    await client.post("save_weights", { model_id: client.model, seq_id: 1, path: "a" }),
  );
  const before = await client.json(await client.post("forward", forward(2)));
  await client.post("forward_backward", passRequestToJson(crossEntropy(client.model, 3)));
  await client.post("optim_step", step(client.model, 4));
  expect(await client.json(await client.post("forward", forward(5)))).not.toEqual(before);
  await client.post("load_weights", { model_id: client.model, seq_id: 6, path, optimizer: true });
  expect(await client.json(await client.post("forward", forward(7)))).toEqual(before);
  const again = await client.json(await client.post("save_weights", { model_id: client.model, seq_id: 8, path: "a" }));
  expect(again).toMatchObject({ error: expect.stringContaining("exists"), category: "user" });
});

test("a rank of 0 trains every weight", async () => {
  const client = await connect({ rank: 0 });
  expect((await client.post("get_info", { model_id: client.model })).body).toMatchObject({ is_lora: false });
  await client.post("forward_backward", passRequestToJson(crossEntropy(client.model, 1)));
  const { metrics } = await client.json(await client.post("optim_step", step(client.model, 2)));
  await using model = await backend.openModel({ source, trainable: { type: "full" } }).then((opened) => {
    return Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() });
  });
  const lossMask = new Float32Array(5).fill(1);
  const advantages = Float32Array.from(crossEntropy("").data[0]!.lossInputs.weights!.data);
  await model.forwardBackward([{ tokens, targets, lossMask, advantages }], [{ type: "policyGradient" }]);
  const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-12, weightDecay: 0 };
  expect(metrics["grad_norm:mean"]).toBe((await model.optimStep(adam, { stepId: 1 })).gradientNorm);
});

test("a session that has ended has no models", async () => {
  const client = await connect();
  expect((await client.post("session_heartbeat", { session_id: client.session })).status).toBe(200);
  await client.post(`sessions/${client.session}/finish`, {});
  expect((await client.post("session_heartbeat", { session_id: client.session })).status).toBe(404);
  expect((await client.post("get_info", { model_id: client.model })).status).toBe(404);
  expect((await client.post("optim_step", step(client.model))).status).toBe(404);
});

test("a session without requests ends by itself, and its models are closed", async () => {
  let open = 0;
  const watched = changedBackend((model) => {
    open += 1;
    const close = async (): Promise<void> => {
      open -= 1;
      await model.close();
    };
    return { close };
  }, backend);
  const client = await connect({ backend: watched, sessionMs: 200 });
  for (let i = 0; i < 6; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await client.post("session_heartbeat", { session_id: client.session })).status).toBe(200);
  }
  expect([open, client.service.statistics()]).toMatchObject([1, { sessions: 1, models: 1 }]);
  await expect.poll(() => client.service.statistics()).toMatchObject({ sessions: 0, models: 0 });
  await expect.poll(() => open).toBe(0);
  expect((await client.post("get_info", { model_id: client.model })).status).toBe(404);
});

test("a cancelled sample ends early", async () => {
  const client = await connect();
  const sample = { base_model: "tiny", prompt: { chunks: [{ tokens: [1] }] }, num_samples: 4096 };
  const promise = await client.post("asample", { ...sample, sampling_params: { max_tokens: 60, stop: [] } });
  expect(client.service.statistics().running).toBe(1);
  expect((await client.post("cancel_future", { request_id: promise.body.request_id })).status).toBe(200);
  expect(await client.json(promise)).toMatchObject({ error: expect.stringContaining("cancelled"), category: "user" });
  expect(client.service.statistics().running).toBe(0);
  expect((await client.post("cancel_future", { request_id: "none:1" })).status).toBe(404);
});

test("a draining server finishes the accepted work, and refuses more", async () => {
  const client = await connect({ gapMs: 2_500 });
  // It waits for the first request, which does not come.
  const late = await client.post("optim_step", step(client.model, 2));
  const drained = client.service.drain({ signal: new AbortController().signal });
  expect((await client.post("optim_step", step(client.model, 3))).status).toBe(503);
  expect((await client.post("create_session", {})).status).toBe(503);
  expect((await client.post("session_heartbeat", { session_id: client.session })).status).toBe(200);
  const result = client.json(late);
  await drained;
  expect(client.service.statistics().running).toBe(0);
  expect((await result).metrics).toBeDefined();
});

test("requests that can never succeed are refused with a status below 500", async () => {
  const client = await connect({ maxModels: 1, app: { maxBodyBytes: 4000 } });
  const json = passRequestToJson(crossEntropy(client.model));
  const create = { session_id: client.session, model_seq_id: 1, base_model: "tiny" };
  const sample = { base_model: "tiny", prompt: { chunks: [{ tokens: [1] }] }, sampling_params: { max_tokens: 1 } };
  const twoTokens = { ...sample, prompt: { chunks: [{ tokens: [1, 2] }] } };
  const sparse = (sparse_crow_indices: number[], sparse_col_indices: number[]) => {
    return { data: [1], dtype: "int64", shape: [1, 3], sparse_crow_indices, sparse_col_indices };
  };
  const refused: [string, unknown, number][] = [
    ["nothing", {}, 404],
    ["create_model", create, 429],
    ["create_model", { ...create, base_model: "other" }, 400],
    ["create_model", { ...create, session_id: "none" }, 404],
    ["optim_step", {}, 422],
    ["forward", passRequestToJson({ ...crossEntropy(client.model), lossName: "none" }), 400],
    ["forward", passRequestToJson({ ...crossEntropy(client.model), lossName: "constructor" }), 400],
    ["forward", passRequestToJson({ ...crossEntropy(client.model), lossConfig: { beta: 1 } }), 400],
    ["forward", passRequestToJson({ ...crossEntropy(client.model), data: [{ tokens, lossInputs: {} }] }), 400],
    ["forward", passRequestToJson({ ...crossEntropy(client.model), lossName: "dro" }), 400],
    ["forward", { ...json, padding: "x".repeat(5000) }, 413],
    ["save_weights", { model_id: client.model, path: "../outside" }, 422],
    ["load_weights", { model_id: client.model, path: "tinker://../weights/a" }, 400],
    ["asample", { ...sample, base_model: "other" }, 400],
    ["asample", { ...sample, sampling_session_id: "none" }, 404],
    ["asample", { ...sample, prompt_logprobs: true, prompt_logprobs_last_n: 1 }, 400],
    ["asample", { ...sample, prompt_logprobs_last_n: 1 }, 400],
    ["asample", { ...sample, topk_sample_logprobs: 101 }, 422],
    ["asample", { ...sample, target_prompt_logprobs: { data: [1] } }, 422],
    ["asample", { ...sample, target_prompt_logprobs: { data: [1], dtype: "int64", shape: [1, 1] } }, 400],
    ["asample", { ...sample, target_prompt_logprobs: { data: [], dtype: "float32", shape: [0, 1] } }, 400],
    ["asample", { ...twoTokens, target_prompt_logprobs: { data: [-2], dtype: "int64", shape: [1, 1] } }, 400],
    ["asample", { ...twoTokens, target_prompt_logprobs: { data: [1, 2], dtype: "int64", shape: [1, 1] } }, 400],
    ["asample", { ...twoTokens, target_prompt_logprobs: sparse([0, 1], [3]) }, 400],
    ["asample", { ...twoTokens, target_prompt_logprobs: sparse([0], [0]) }, 400],
    ["asample", { ...sample, prompt_alt_tokens_k: 2 }, 400],
    ["asample", { ...sample, prompt: { chunks: [{ type: "image" }] } }, 400],
  ];
  for (const [route, body, status] of refused) {
    expect({ route, status: (await client.post(route, body)).status }).toEqual({ route, status });
  }
  const damaged: [string, PassRequest["lossConfig"], PassRequest["data"][number]["lossInputs"]][] = [
    ["cross_entropy", {}, { target_tokens: vector(targets), weights: vector(Float32Array.of(0, Number.NaN, 1, 1, 1)) }],
    ["cross_entropy", {}, { target_tokens: vector(targets), weights: vector(Float32Array.of(0, Infinity, 1, 1, 1)) }],
    ["cross_entropy", {}, { target_tokens: vector(Float32Array.of(5, 9.5, 2, 7, 3)), weights: ratioInputs.advantages }],
    ["dro", { beta: Number.NaN }, ratioInputs],
  ];
  for (const [lossName, lossConfig, lossInputs] of damaged) {
    const request = { ...crossEntropy(client.model), lossName, lossConfig, data: [{ tokens, lossInputs }] };
    expect(await client.postBytes(passRequestToBytes(request))).toMatchObject({ status: 400 });
  }
  const failed = await client.json(
    await client.post("asample", { ...sample, prompt: { chunks: [{ tokens: [1_000_000] }] } }),
  );
  expect(failed).toMatchObject({ error: expect.stringContaining("1000000"), category: "user" });
});
