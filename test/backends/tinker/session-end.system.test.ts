import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import type { TinkerServiceOptions } from "../../../trainers/tinker/service/service-options.ts";
import { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { changedBackend } from "../../trainers/changed-backend.ts";
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

const digest = "";

/** A service with one session. */
function start(options: Partial<TinkerServiceOptions> = {}) {
  const service = new TinkerService({ backend, source, names: ["tiny"], folder: join(folder, "saved"), ...options });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const { session_id } = service.createSession() as { session_id: string };
  const create = (model_seq_id: number, rank = 2): string => {
    const body = { session_id, model_seq_id, base_model: "tiny", lora_config: { rank } };
    return service.createModel({ body, digest }).model_id as string;
  };
  const result = async ({ request_id }: { readonly request_id: string }) => service.futures.result(request_id, 60_000);
  return { service, session_id, create, result };
}

const prompt = { chunks: [{ type: "encoded_text", tokens: [1, 5] }] };
const sampleBody = {
  ...{ prompt, num_samples: 1, seq_id: 1, topk_prompt_logprobs: 0, topk_sample_logprobs: 0 },
  sampling_params: { max_tokens: 60, seed: 7, stop: [], temperature: 1, top_k: -1, top_p: 1 },
};

test("the samples of a session are aborted at its end", async () => {
  const { service, session_id, result } = start();
  const session = { session_id, sampling_session_seq_id: 0, base_model: "tiny" };
  const { sampling_session_id } = await service.sampling.create({ body: session, digest });
  const body = { ...sampleBody, sampling_session_id, num_samples: 4096 };
  const promise = await service.sampling.sample({ body, digest });
  await service.endSession(session_id);
  expect(await result(promise)).toMatchObject({ error: { status: 410 } });
  await expect(service.sampling.sample({ body, digest })).rejects.toMatchObject({ status: 404 });
});

test("weights that are saved for sampling while their session ends are closed", async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let open = 0;
  const watched = changedBackend(
    (model) => ({
      snapshot: async () => {
        const sampler = await model.snapshot();
        open += 1;
        reached.resolve();
        await gate.promise;
        const close = async (): Promise<void> => {
          open -= 1;
          await sampler.close();
        };
        return new Proxy(sampler, {
          get: (target, key) => {
            const value: unknown = key === "close" ? close : Reflect.get(target, key, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    }),
    backend,
  );
  const { service, session_id, create, result } = start({ backend: watched });
  const model_id = create(0);
  const saved = service.saveWeightsForSampler({ body: { model_id }, digest });
  await reached.promise;
  await service.endSession(session_id);
  gate.resolve();
  expect(await result(saved)).toMatchObject({ error: { status: 404 } });
  expect(open).toBe(0);
});

test("a sampling session is not created if its session ends while the weights are read", async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const first = start();
  const saved = first.service.saveWeightsForSampler({ body: { model_id: first.create(0), path: "s" }, digest });
  const { value } = (await first.result(saved)) as { value: { path: string } };
  const slow: TrainingBackend = {
    ...backend,
    openModel: async (spec, options) => {
      reached.resolve();
      await gate.promise;
      return backend.openModel(spec, options);
    },
  };
  const { service, session_id } = start({ backend: slow });
  const body = { session_id, sampling_session_seq_id: 0, model_path: value.path };
  const created = service.sampling.create({ body, digest });
  await reached.promise;
  await service.endSession(session_id);
  gate.resolve();
  await expect(created).rejects.toMatchObject({ status: 404 });
  expect(service.sampling.idsOf(session_id)).toEqual([]);
});

test("a model that fails to open takes no place", async () => {
  const failing: TrainingBackend = {
    ...backend,
    openModel: async (spec, options) => {
      if (spec.trainable.type === "full") throw new Error("no room");
      return backend.openModel(spec, options);
    },
  };
  const { service, create } = start({ backend: failing, maxModels: 1 });
  create(0, 0);
  await service.futures.settled();
  expect(service.statistics().models).toBe(0);
  create(1);
  expect(service.statistics().models).toBe(1);
});

test("a sampling session that is created again keeps the numbers of its copies", async () => {
  const { service, session_id } = start();
  const body = { session_id, sampling_session_seq_id: 0, base_model: "tiny" };
  const { sampling_session_id } = (await service.sampling.create({ body, digest })) as { sampling_session_id: string };
  const join = () => service.sampling.join({ body: { sampling_session_id }, digest });
  expect(join()).toMatchObject({ client_counter: 1 });
  expect(await service.sampling.create({ body, digest })).toMatchObject({ sampling_session_id });
  expect(join()).toMatchObject({ client_counter: 2 });
});

test("weights under the name of a sampling session do not replace those of the session", async () => {
  const { service, create, result } = start();
  const model_id = create(0);
  const unnamed = service.saveWeightsForSampler({ body: { model_id, sampling_session_seq_id: 1 }, digest });
  const { value } = (await result(unnamed)) as { value: { sampling_session_id: string } };
  const { model_path } = service.sampling.info(value.sampling_session_id) as { model_path: string };
  await result(service.saveWeightsForSampler({ body: { model_id, path: "session-1" }, digest }));
  expect(service.modelNames()).toEqual(["tiny", model_id, model_path, expect.stringMatching(/\/session-1$/)]);
});
