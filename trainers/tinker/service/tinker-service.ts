import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { SampleRequest } from "../../../src/contract/sampler.ts";
import { type BatchedSampler, batchedSampler } from "../../../src/core/policy/batched-sampler.ts";
import type { SampledModel } from "../../../src/core/policy/sampled-model.ts";
import type { Model, ModelSource, TrainingBackend } from "../../backend/training-backend.ts";
import type { PassRequest } from "../protocol/pass-request.ts";
import type { PassResult } from "../protocol/pass-result.ts";
import type * as bodies from "../protocol/requests.ts";
import type { SampleResult } from "../protocol/sample-result.ts";
import { CheckpointStore } from "./checkpoint-store.ts";
import { FutureTable } from "./future-table.ts";
import { checkPass, runPass, servedLosses } from "./pass-loss.ts";
import { promptScoreRequest, scorePrompt } from "./prompt-scores.ts";
import { RecordedSequences } from "./recorded-sequences.ts";
import { RequestError } from "./request-error.ts";
import { sampleRequests } from "./sample-requests.ts";
import { ServedModel } from "./served-model.ts";

/** The options of {@link TinkerService}. */
export interface TinkerServiceOptions {
  readonly backend: TrainingBackend;
  /** The base model of all models. */
  readonly source: ModelSource & { readonly type: "pretrained" };
  /** The names by which clients may call the base model. */
  readonly names: readonly string[];
  /** The folder of saved weights. */
  readonly folder: string;
  /** The maximum number of open models. 16 by default. */
  readonly maxModels?: number;
  /** The maximum number of samplers of saved weights of each model. The oldest is closed. 32 by default. */
  readonly maxSamplers?: number;
  /** The time in milliseconds for which a result is kept. One hour by default. */
  readonly resultMs?: number;
  /** The time in milliseconds without a request after which a session ends. 10 minutes by default. */
  readonly sessionMs?: number;
  /** The time in milliseconds for which a recorded completion can be trained on after its last use. One day by default. */
  readonly recordMs?: number;
  /** The time in milliseconds for which a request waits for one with a smaller sequence id. 10 seconds by default. */
  readonly gapMs?: number;
}

/** A request, with the digest of its body. */
export interface Sent<T> {
  readonly body: T;
  readonly digest: string;
}

interface Session {
  used: number;
  models: number;
}

/** The answer to a request whose result is computed later. */
type Promised = Readonly<Record<string, unknown>> & { readonly request_id: string };

/**
 * The Tinker API over a training backend, without HTTP. Each model belongs to a session. The requests of a model run in
 * the order of their sequence ids, each once.
 */
export class TinkerService implements AsyncDisposable {
  readonly futures: FutureTable;
  readonly #options: Required<TinkerServiceOptions>;
  readonly #checkpoints: CheckpointStore;
  readonly #sessions = new Map<string, Session>();
  readonly #models = new Map<string, ServedModel>();
  /** The path of each sampling session. Undefined for the base model. */
  readonly #samplingSessions = new Map<string, { readonly sessionId: string; readonly path: string | undefined }>();
  readonly #recorded: RecordedSequences;
  #base: Promise<{ readonly model: Model; readonly sampler: BatchedSampler }> | undefined;

  constructor(options: TinkerServiceOptions) {
    const keep = { resultMs: 3_600_000, sessionMs: 600_000, recordMs: 86_400_000, gapMs: 10_000 };
    this.#options = { maxModels: 16, maxSamplers: 32, ...keep, ...options };
    this.#checkpoints = new CheckpointStore(this.#options.folder);
    this.futures = new FutureTable(this.#options);
    this.#recorded = new RecordedSequences({ keepMs: this.#options.recordMs });
  }

  /** Opens the base model. Rejects with the errors of opening it. */
  async ready(): Promise<void> {
    await this.#baseModel();
  }

  capabilities(): unknown {
    const models = this.#options.names.map((model_name) => ({ model_name, trainable: true, sampleable: true }));
    return { supported_models: models, supported_loss_fns: servedLosses };
  }

  /** The names of weights that can be sampled: the base model, models in training and saved weights. */
  modelNames(): readonly string[] {
    return [...this.#options.names, ...this.#models.values().flatMap((served) => [served.id, ...served.paths()])];
  }

  /**
   * Returns the weights of a name: the base model, the current weights of a model in training, or saved weights
   * (`tinker://`). Undefined for an unknown name.
   */
  async sampledModel(name: string): Promise<SampledModel | undefined> {
    const sampler = await this.#namedSampler(name);
    if (sampler === undefined) return undefined;
    const { tokenizer, renderer, maxLength } = (await this.#baseModel()).model;
    return { sampler, tokenizer, renderer, maxLength };
  }

  async createSession(): Promise<unknown> {
    await this.#endOldSessions();
    const session_id = randomUUID();
    this.#sessions.set(session_id, { used: Date.now(), models: 0 });
    return { type: "create_session", session_id };
  }

  /** Marks a session as used. Throws `RequestError` 404 for one that has ended. */
  touch(sessionId: string): Session {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw new RequestError(404, `Session ${sessionId} is unknown or has ended.`);
    session.used = Date.now();
    return session;
  }

  createModel({ body, digest }: Sent<z.output<typeof bodies.createModelBody>>): Promised {
    const { session_id: sessionId, base_model, lora_config, optimizer_config } = body;
    const session = this.touch(sessionId);
    this.#checkBase(base_model);
    const optimizer = optimizer_config?.type ?? "adamw";
    if (optimizer !== "adamw") throw new RequestError(400, `The optimizer ${optimizer} is not supported. Use adamw.`);
    const rank = lora_config?.rank ?? 0;
    const id = `${sessionId}:train:${body.model_seq_id}`;
    const once = { owner: sessionId, key: `model-${body.model_seq_id}`, digest };
    if (!this.futures.has(sessionId, once.key)) {
      const { maxModels, source, backend, gapMs, maxSamplers } = this.#options;
      if (this.#models.size >= maxModels) {
        throw new RequestError(400, `The server has ${maxModels} models already. Unload one, or end its session.`);
      }
      session.models += 1;
      const seed = lora_config?.seed ?? undefined;
      const opened = backend.openModel({
        source,
        trainable:
          rank === 0 ? { type: "full" } : { type: "lora", lora: { rank, ...(seed === undefined ? {} : { seed }) } },
      });
      this.#models.set(id, new ServedModel({ id, sessionId, rank, opened, gapMs, maxSamplers }));
    }
    const request_id = this.futures.start(async () => {
      await this.#models.get(id)!.model();
      return { type: "create_model", model_id: id };
    }, once);
    return { request_id, model_id: id };
  }

  info(modelId: string): unknown {
    const { rank } = this.#modelOf(modelId);
    const [model_name] = this.#options.names;
    return {
      type: "get_info",
      model_id: modelId,
      model_data: { arch: "decoder", model_name, tokenizer_id: this.#options.source.path },
      is_lora: rank > 0,
      lora_rank: rank,
      model_name,
    };
  }

  pass({ body, digest }: Sent<PassRequest>): Promised {
    const { sessionId } = this.#modelOf(body.modelId);
    const checked = checkPass(body, (sequenceId) => this.#recorded.use(sessionId, sequenceId));
    return this.#operate(
      { model_id: body.modelId, seq_id: body.seqId },
      digest,
      async (served): Promise<PassResult> => runPass(await served.model(), checked),
    );
  }

  optimStep({ body, digest }: Sent<z.output<typeof bodies.optimStepBody>>): Promised {
    const { adam_params: adam } = body;
    return this.#operate(body, digest, async (served) => {
      const model = await served.model();
      const { gradientNorm } = await model.optimStep(
        {
          learningRate: adam.learning_rate,
          beta1: adam.beta1,
          beta2: adam.beta2,
          epsilon: adam.eps,
          weightDecay: adam.weight_decay,
          ...(adam.grad_clip_norm > 0 ? { clipNorm: adam.grad_clip_norm } : {}),
        },
        { stepId: model.version + 1 },
      );
      return { metrics: { "grad_norm:mean": gradientNorm } };
    });
  }

  saveWeights({ body, digest }: Sent<z.output<typeof bodies.saveBody>>): Promised {
    return this.#operate(body, digest, async (served) => {
      const { path, folder } = await this.#checkpoints.create(served.id, "weights", body);
      await (await served.model()).save(folder);
      return { type: "save_weights", path };
    });
  }

  loadWeights({ body, digest }: Sent<z.output<typeof bodies.loadBody>>): Promised {
    const folder = this.#checkpoints.folderOf(body.path, "weights");
    if (!body.optimizer) {
      throw new RequestError(
        400,
        "Weights are loaded together with the state of their optimizer. Set optimizer to true.",
      );
    }
    return this.#operate(body, digest, async (served) => {
      await (await served.model()).load(folder);
      served.forgetCurrent();
      return { type: "load_weights", path: body.path, model_id: served.id };
    });
  }

  saveWeightsForSampler({ body, digest }: Sent<z.output<typeof bodies.saveForSamplerBody>>): Promised {
    const { path: name, sampling_session_seq_id: number } = body;
    return this.#operate(body, digest, async (served) => {
      if (name === undefined || name === null) {
        const id = `${served.sessionId}:sample:${number ?? randomUUID()}`;
        const path = `tinker://${served.id}/sampler_weights/session-${number ?? id}`;
        await served.addSampler(path);
        this.#samplingSessions.set(id, { sessionId: served.sessionId, path });
        return { type: "save_weights_for_sampler", sampling_session_id: id };
      }
      const { path, folder } = await this.#checkpoints.create(served.id, "sampler_weights", {
        ...body,
        overwrite: true,
      });
      const model = await served.model();
      await model.export(folder, model.isAdapter ? "peft" : "huggingface");
      await served.addSampler(path);
      return { type: "save_weights_for_sampler", path };
    });
  }

  createSamplingSession({ body }: Sent<z.output<typeof bodies.samplingSessionBody>>): unknown {
    this.touch(body.session_id);
    const path = body.model_path ?? undefined;
    if (path === undefined) this.#checkBase(body.base_model ?? "");
    else this.#samplerOf(path);
    const id = `${body.session_id}:sample:${body.sampling_session_seq_id}`;
    this.#samplingSessions.set(id, { sessionId: body.session_id, path });
    return { type: "create_sampling_session", sampling_session_id: id };
  }

  samplerInfo(id: string): unknown {
    const found = this.#samplingSessions.get(id);
    if (found === undefined) throw new RequestError(404, `Sampling session ${id} is unknown.`);
    return { sampler_id: id, base_model: this.#options.names[0], model_path: found.path ?? null };
  }

  sample({ body, digest }: Sent<z.output<typeof bodies.sampleBody>>): Promised {
    const { sampling_session_id: id } = body;
    const promptScore = promptScoreRequest(body);
    let path = body.model_path ?? undefined;
    let sessionId: string | undefined;
    if (id !== undefined && id !== null) {
      const session = this.#samplingSessions.get(id);
      if (session === undefined) throw new RequestError(404, `Sampling session ${id} is unknown.`);
      ({ sessionId } = session);
      this.touch(sessionId);
      path = session.path;
    } else if (path === undefined) this.#checkBase(body.base_model ?? "");
    const isRecorded = body.record_stability_info === true;
    if (isRecorded && sessionId === undefined) {
      throw new RequestError(400, "record_stability_info needs a sampling session.");
    }
    const sampler = path === undefined ? undefined : this.#samplerOf(path).direct;
    const wanted = sampleRequests(body);
    const once =
      id === undefined || id === null || body.seq_id === undefined || body.seq_id === null
        ? undefined
        : { owner: id, key: body.seq_id, digest };
    const idOf = (sample: number): string => `${request_id}:${sample}`;
    const request_id = this.futures.start(async (): Promise<SampleResult> => {
      const base = await this.#baseModel();
      const { stopTokenIds } = base.model.renderer;
      const requests = wanted.map((request): SampleRequest => ({ stopTokenIds, ...request }));
      const used = sampler ?? base.sampler.direct;
      const scored = promptScore === undefined ? {} : await scorePrompt(used, promptScore);
      const samples = await Array.fromAsync(used.sample(requests));
      const sequences = samples
        .toSorted((a, b) => a.request - b.request)
        .map(({ ids, logprobs, finish }) => ({
          tokens: Int32Array.from(ids),
          logprobs: Float32Array.from(logprobs),
          stopReason: finish,
        }));
      if (isRecorded)
        for (const [i, sequence] of sequences.entries()) this.#recorded.add(sessionId!, idOf(i), sequence);
      return { sequences, ...scored };
    }, once);
    return { request_id, sample_sequence_ids: Array.from({ length: body.num_samples }, (_, i) => idOf(i)) };
  }

  unload({ body, digest }: Sent<z.output<typeof bodies.modelBody>>): Promised {
    const served = this.#modelOf(body.model_id);
    return this.#operate(body, digest, async () => {
      await this.#close(served);
      return { type: "unload_model", model_id: served.id };
    });
  }

  /** Ends a session and closes its models. */
  async endSession(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId);
    for (const served of this.#models.values()) if (served.sessionId === sessionId) await this.#close(served);
    for (const [id, session] of this.#samplingSessions) {
      if (session.sessionId !== sessionId) continue;
      this.#samplingSessions.delete(id);
      this.futures.forget(id);
    }
    this.futures.forget(sessionId);
    this.#recorded.forget(sessionId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#sessions.keys()) await this.endSession(id);
    const base = await this.#base?.catch(() => undefined);
    await base?.sampler.close();
    await base?.model.close();
  }

  #operate(
    { model_id, seq_id }: { readonly model_id: string; readonly seq_id?: number | null | undefined },
    digest: string,
    work: (served: ServedModel) => Promise<unknown>,
  ): Promised {
    const served = this.#modelOf(model_id);
    const sequence = seq_id ?? undefined;
    if (sequence === undefined) return { request_id: this.futures.start(() => served.queue.add(() => work(served))) };
    if (!this.futures.has(model_id, sequence) && !served.queue.accepts(sequence)) {
      throw new RequestError(409, `Request ${sequence} of ${model_id} came after a later one had run.`);
    }
    const once = { owner: model_id, key: sequence, digest };
    return { request_id: this.futures.start(() => served.queue.add(() => work(served), sequence), once) };
  }

  #modelOf(id: string): ServedModel {
    const served = this.#models.get(id);
    if (served === undefined) throw new RequestError(404, `Model ${id} is unknown, or its session has ended.`);
    this.touch(served.sessionId);
    return served;
  }

  async #namedSampler(name: string): Promise<BatchedSampler | undefined> {
    if (this.#options.names.includes(name)) return (await this.#baseModel()).sampler;
    const served = this.#models.get(modelIdOf(name) ?? name);
    if (served === undefined) return undefined;
    this.touch(served.sessionId);
    return served.id === name ? served.current() : served.sampler(name);
  }

  #samplerOf(path: string): BatchedSampler {
    const sampler = this.#models.get(modelIdOf(path) ?? "")?.sampler(path);
    if (sampler === undefined)
      throw new RequestError(404, `There are no weights ${path}, or they are no longer in memory.`);
    return sampler;
  }

  #checkBase(name: string): void {
    const { names } = this.#options;
    if (!names.includes(name))
      throw new RequestError(400, `The base model ${name} is not served. Served: ${names.join(", ")}.`);
  }

  #baseModel(): Promise<{ readonly model: Model; readonly sampler: BatchedSampler }> {
    const { backend, source } = this.#options;
    this.#base ??= (async () => {
      const model = await backend.openModel({ source, trainable: { type: "frozen" } });
      return { model, sampler: batchedSampler(await model.snapshot()) };
    })();
    return this.#base;
  }

  async #close(served: ServedModel): Promise<void> {
    this.#models.delete(served.id);
    this.futures.forget(served.id);
    await served[Symbol.asyncDispose]();
  }

  async #endOldSessions(): Promise<void> {
    const oldest = Date.now() - this.#options.sessionMs;
    for (const [id, { used }] of this.#sessions) if (used < oldest) await this.endSession(id);
  }
}

/** Returns the model id in the path of sampler weights. Undefined for other texts. */
function modelIdOf(path: string): string | undefined {
  return /^tinker:\/\/([^/]+)\/sampler_weights\//.exec(path)?.[1];
}
