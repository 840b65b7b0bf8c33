import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import {
  type PassRequest,
  passRequestFromBytes,
  passRequestToBytes,
  type TargetSpan,
  type TinkerDatum,
} from "../../../trainers/tinker/protocol/pass-request.ts";
import type { PassResult } from "../../../trainers/tinker/protocol/pass-result.ts";
import type { SampleResult } from "../../../trainers/tinker/protocol/sample-result.ts";
import { vector } from "../../../trainers/tinker/protocol/tensor.ts";
import type { TinkerServiceOptions } from "../../../trainers/tinker/service/service-options.ts";
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

const prompt = [1, 5, 9];
const adam = { learning_rate: 0.03, beta1: 0.9, beta2: 0.95, eps: 1e-12, weight_decay: 0, grad_clip_norm: 0 };
const lora = { rank: 2, seed: 3 };

interface Sampled {
  readonly id: string;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
}

function startService(options: Partial<TinkerServiceOptions> = {}): TinkerService {
  const service = new TinkerService({ backend, source, names: ["tiny"], folder: join(folder, "saved"), ...options });
  onTestFinished(() => service[Symbol.asyncDispose]());
  return service;
}

/** A session with one model that samples completions of 6 tokens and trains on them. */
async function connect(service = startService()) {
  const { session_id } = (await service.createSession()) as { session_id: string };
  const body = { session_id, model_seq_id: 0, base_model: "tiny", lora_config: lora };
  const { model_id } = service.createModel({ body, digest: "" }) as unknown as { model_id: string };
  const resultOf = async <T>({ request_id }: { readonly request_id: string }): Promise<T> => {
    const outcome = await service.futures.result(request_id, 60_000);
    if ("error" in outcome) throw outcome.error;
    return outcome.value as T;
  };
  const sample = async (isRecorded: boolean): Promise<Sampled> => {
    const saved = service.saveWeightsForSampler({ body: { model_id }, digest: "" });
    const { sampling_session_id } = await resultOf<{ sampling_session_id: string }>(saved);
    const promise = (await service.sampling.sample({
      digest: "",
      body: {
        prompt: { chunks: [{ type: "encoded_text", tokens: prompt }] },
        num_samples: 2,
        sampling_params: { max_tokens: 6, seed: 7, stop: [], temperature: 1, top_k: -1, top_p: 1 },
        sampling_session_id,
        topk_prompt_logprobs: 0,
        topk_sample_logprobs: 0,
        record_stability_info: isRecorded,
      },
    })) as unknown as { request_id: string; sample_sequence_ids: string[] };
    const { sequences } = await resultOf<SampleResult>(promise);
    // The second one, so that a server that mixes up the samples is found.
    const { tokens, logprobs } = sequences[1]!;
    return { id: promise.sample_sequence_ids[1]!, tokens, logprobs: logprobs! };
  };
  const pass = (request: Omit<PassRequest, "modelId" | "forwardOnly">): Promise<PassResult> => {
    const bytes = passRequestToBytes({ ...request, modelId: model_id, forwardOnly: false });
    return resultOf(service.pass({ body: passRequestFromBytes(bytes), digest: "" }));
  };
  const step = async (): Promise<number> => {
    const done = service.optimStep({ body: { model_id, adam_params: adam }, digest: "" });
    return (await resultOf<{ metrics: Record<string, number> }>(done)).metrics["grad_norm:mean"]!;
  };
  return { sample, pass, step };
}

function spansOf(id: string): TargetSpan[] {
  return [
    { source: "prompt", sequenceId: id, offset: 1, length: prompt.length - 1 },
    { source: "sampled", sequenceId: id, offset: 0, length: 6 },
  ];
}

const advantages = [0, 0, 1, -1, 2, -0.5, 0, 1];

function datumOf({ id, tokens }: Sampled, graded = advantages): TinkerDatum {
  const ids = [...prompt, ...tokens];
  return {
    tokens: Int32Array.from(ids.slice(0, -1)),
    lossInputs: {
      // The recipes write 0 for the targets of the prompt.
      target_tokens: vector(Int32Array.from([0, 0, ...tokens])),
      advantages: vector(Float32Array.from(graded)),
      // The server uses the log-probabilities that it recorded.
      logprobs: vector(new Float32Array(8).fill(-1)),
    },
    targetSpans: spansOf(id),
  };
}

const teach = ({ tokens }: Sampled): TinkerDatum => {
  const weights = vector(Float32Array.of(0, 0, 1, -1, 1, -1, 1, -1));
  const ids = [...prompt, ...tokens];
  return {
    tokens: Int32Array.from(ids.slice(0, -1)),
    lossInputs: { target_tokens: vector(Int32Array.from(ids.slice(1))), weights },
  };
};

const configs: Record<string, number>[] = [
  { kl_coeff: 0.3, clip_low_threshold: 0.95, clip_high_threshold: 1.05 },
  { kl_coeff: 0.05 },
  {},
];

test.each(
  configs,
)("stable_reinforce has the value of its formula, and the gradient of its derivatives: %j", async (lossConfig) => {
  const { kl_coeff: kl = 0, clip_low_threshold: low = 0, clip_high_threshold: high = 2 } = lossConfig;
  const client = await connect();
  const sampled = await client.sample(true);
  // One step moves the weights away from those that sampled.
  await client.pass({ lossName: "cross_entropy", lossConfig: {}, data: [teach(sampled)] });
  await client.step();
  const result = await client.pass({ lossName: "stable_reinforce", lossConfig, data: [datumOf(sampled)] });
  const gradientNorm = await client.step();

  const current = [...result.outputs[0]!.logprobs!.data];
  const ratios = [...sampled.logprobs].map((q, i) => Math.exp(current[i + 2]! - q));
  expect(Math.max(...ratios)).toBeGreaterThan(2);
  expect(Math.min(...ratios)).toBeLessThan(0.95);
  const formula = (logprobs: readonly number[]): number =>
    ratios.reduce((sum, ratio, i) => {
      const logprob = logprobs[i + 2]!;
      const weight = Math.min(Math.max(ratio, low), high);
      return sum - weight * advantages[i + 2]! * logprob + (kl * (logprob - sampled.logprobs[i]!) ** 2) / 2;
    }, 0);
  expect(result.metrics["loss:sum"]).toBeCloseTo(formula(current), 4);

  const moved = (t: number, by: number): number => formula(current.map((x, i) => (i === t ? x + by : x)));
  const derived = Float32Array.from(current, (_, t) => -(moved(t, 1e-4) - moved(t, -1e-4)) / 2e-4);
  const own = await backend.openModel({ source, trainable: { type: "lora", lora } });
  onTestFinished(() => own.close());
  const settings = { learningRate: 0.03, beta1: 0.9, beta2: 0.95, epsilon: 1e-12, weightDecay: 0 };
  const lossMask = new Float32Array(8).fill(1);
  const first = teach(sampled);
  const { target_tokens: targets, weights } = first.lossInputs;
  const base = { tokens: first.tokens, targets: targets!.data as Int32Array, lossMask };
  await own.forwardBackward([{ ...base, advantages: weights!.data as Float32Array }], [{ type: "policyGradient" }]);
  await own.optimStep(settings, { stepId: 1 });
  await own.forwardBackward([{ ...base, advantages: derived }], [{ type: "policyGradient" }]);
  const { gradientNorm: expected } = await own.optimStep(settings, { stepId: 2 });
  expect(gradientNorm / expected).toBeCloseTo(1, 3);
});

test("stable_reinforce trains only on completions that the server recorded for this session", async () => {
  const service = startService();
  const client = await connect(service);
  const sampled = await client.sample(true);
  const unrecorded = await client.sample(false);
  const { sample } = await connect(service);
  const foreign = await sample(true);
  const datum = datumOf(sampled);
  const swapped = {
    ...datumOf(sampled),
    lossInputs: { ...datum.lossInputs, target_tokens: vector(new Int32Array(8)) },
  };
  const refused: [TinkerDatum, RegExp][] = [
    [{ ...datum, targetSpans: [] }, /has no provenance/],
    [{ ...datum, targetSpans: spansOf(sampled.id).slice(1) }, /provenance of 6 targets, but 8/],
    [datumOf(unrecorded), /was not recorded/],
    [datumOf(foreign), /was not recorded/],
    [swapped, /has the target 0 at/],
    [datumOf(sampled, [0, 1, 1, 1, 1, 1, 1, 1]), /advantage at 1/],
  ];
  for (const [data, message] of refused) {
    await expect(async () => {
      await client.pass({ lossName: "stable_reinforce", lossConfig: {}, data: [data] });
    }).rejects.toThrow(message);
  }
});

test("a recorded completion expires after its last use", async () => {
  const client = await connect(startService({ recordMs: 0 }));
  const sampled = await client.sample(true);
  const request = { lossName: "stable_reinforce", lossConfig: {}, data: [datumOf(sampled)] };
  await expect(async () => await client.pass(request)).rejects.toThrow(/has expired/);
});
