import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { z } from "zod";
import type { Sampler } from "../../../src/contract/sampler.ts";
import type { SampledModel } from "../../../src/core/policy/sampled-model.ts";
import type { PassRequest } from "../protocol/pass-request.ts";
import type { PassResult } from "../protocol/pass-result.ts";
import type * as bodies from "../protocol/requests.ts";
import { CheckpointStore, modelIdOf } from "./checkpoint-store.ts";
import { closeFrozen, type FrozenModel, openFrozen } from "./frozen-model.ts";
import { FutureTable } from "./future-table.ts";
import { checkOptimizer, type ModelShape, trainableOf } from "./model-shape.ts";
import { checkPass, runPass, servedLosses } from "./pass-loss.ts";
import { RecordedSequences } from "./recorded-sequences.ts";
import { RequestError } from "./request-error.ts";
import { SamplingSessions } from "./sampling-sessions.ts";
import type { Sent } from "./sent.ts";
import { ServedModel } from "./served-model.ts";
import type {
  CreatedSession,
  ModelInfo,
  Promised,
  ServedCapabilities,
  ServiceResult,
  SessionInfo,
} from "./service-answers.ts";
import { serviceDefaults, type TinkerServiceOptions } from "./service-options.ts";
import { StoredSamplers } from "./stored-samplers.ts";

/**
 * The Tinker API over a training backend, without HTTP. Each model belongs to a session. The requests of a model run in
 * the order of their sequence ids, each once.
 */
export class TinkerService implements AsyncDisposable {
  readonly futures: FutureTable<ServiceResult>;
  readonly #options: Required<TinkerServiceOptions>;
  readonly checkpoints: CheckpointStore;
  /** The time in milliseconds of each session's last request. */
  readonly #sessions = new Map<string, number>();
  readonly #models = new Map<string, ServedModel>();
  /** The sampling sessions of clients. */
  readonly sampling: SamplingSessions;
  readonly #recorded: RecordedSequences;
  readonly #stored: StoredSamplers;
  readonly #expiry: NodeJS.Timeout;
  #draining = false;
  #base: Promise<FrozenModel> | undefined;

  constructor(options: TinkerServiceOptions) {
    this.#options = { ...serviceDefaults, ...options };
    this.checkpoints = new CheckpointStore(this.#options.folder);
    this.#stored = new StoredSamplers({ ...this.#options, checkpoints: this.checkpoints });
    this.futures = new FutureTable(this.#options);
    const { recordMs: keepMs, maxRecordedBytes: maxBytes } = this.#options;
    this.#recorded = new RecordedSequences({ keepMs, maxBytes });
    const checkMs = Math.min(Math.max(this.#options.sessionMs / 4, 10), 30_000);
    this.#expiry = setInterval(() => this.#expire(), checkMs).unref();
    this.sampling = new SamplingSessions({
      futures: this.futures,
      recorded: this.#recorded,
      baseName: this.baseName,
      touch: (sessionId) => this.touch(sessionId),
      checkBase: (name) => this.#checkBase(name),
      base: () => this.#baseModel(),
      samplerOf: (path) => this.#samplerOf(path),
    });
  }

  /** True after {@link drain}: the server refuses new work, and still answers requests for results. */
  get isDraining(): boolean {
    return this.#draining;
  }

  /**
   * Refuses new work. Waits until the accepted work has ended, and then at most two seconds until clients have received
   * the results. An abort of the signal ends the wait.
   */
  async drain({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#draining = true;
    while (this.futures.running > 0 && !signal.aborted) await setTimeout(20);
    const latest = Date.now() + 2_000;
    while (this.futures.undelivered > 0 && Date.now() < latest && !signal.aborted) await setTimeout(20);
  }

  /** Figures for monitoring. */
  statistics(): {
    readonly sessions: number;
    readonly models: number;
    readonly maxModels: number;
    readonly running: number;
  } {
    const { maxModels } = this.#options;
    return { sessions: this.#sessions.size, models: this.#models.size, maxModels, running: this.futures.running };
  }

  /** Opens the base model. Rejects with the errors of opening it. */
  async ready(): Promise<void> {
    await this.#baseModel();
  }

  capabilities(): ServedCapabilities {
    const models = this.#options.names.map((model_name) => ({ model_name, trainable: true, sampleable: true }));
    return { supported_models: models, supported_loss_fns: servedLosses };
  }

  /** The name of the base model in answers. */
  get baseName(): string {
    return this.#options.names[0]!;
  }

  /** The models in training, with the time of their session's last request. */
  openModels(): { readonly id: string; readonly rank: number; readonly used: Date }[] {
    return [...this.#models.values()].map(({ id, sessionId, shape }) => {
      return { id, rank: shape.rank, used: new Date(this.#sessions.get(sessionId) ?? Date.now()) };
    });
  }

  /** The models and sampling sessions of a session. Throws `RequestError` 404 for one that has ended. */
  sessionInfo(sessionId: string): SessionInfo {
    this.touch(sessionId);
    const models = [...this.#models.values()].filter((served) => served.sessionId === sessionId);
    return { training_run_ids: models.map(({ id }) => id), sampler_ids: this.sampling.idsOf(sessionId) };
  }

  /** The ids of the sessions. */
  sessionIds(): string[] {
    return [...this.#sessions.keys()];
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

  /** Throws `RequestError` 429 if there are too many sessions. */
  createSession(): CreatedSession {
    const { maxSessions } = this.#options;
    if (this.#sessions.size >= maxSessions) {
      throw new RequestError(429, `The server already has ${maxSessions} sessions, its maximum. Try again later.`);
    }
    const session_id = randomUUID();
    this.#sessions.set(session_id, Date.now());
    return { type: "create_session", session_id };
  }

  /** Marks a session as used. Throws `RequestError` 404 for one that has ended. */
  touch(sessionId: string): void {
    if (!this.#sessions.has(sessionId)) throw new RequestError(404, `Session ${sessionId} is unknown or has ended.`);
    this.#sessions.set(sessionId, Date.now());
  }

  /**
   * Throws `RequestError` 404 if a body names a model or a sampling session that does not exist. For use before the rest
   * of the body, which can be large, is checked.
   */
  checkOwner(body: unknown): void {
    const { model_id, sampling_session_id } = Object(body) as Readonly<Record<string, unknown>>;
    if (typeof model_id === "string" && model_id !== "") this.#modelOf(model_id);
    if (typeof sampling_session_id === "string" && sampling_session_id !== "") this.sampling.check(sampling_session_id);
  }

  createModel({ body, digest }: Sent<z.output<typeof bodies.createModelBody>>): Promised {
    const { session_id: sessionId, base_model, lora_config, optimizer_config } = body;
    this.#checkBase(base_model);
    checkOptimizer(optimizer_config?.type);
    const shape = {
      rank: lora_config?.rank ?? 0,
      attention: lora_config?.train_attn ?? true,
      mlp: lora_config?.train_mlp ?? true,
    };
    const id = `${sessionId}:train:${body.model_seq_id}`;
    const once = { owner: sessionId, key: `model-${body.model_seq_id}`, digest };
    if (!this.futures.has(sessionId, once.key)) {
      this.#open({ id, sessionId, shape, seed: lora_config?.seed ?? undefined });
    }
    const request_id = this.futures.start(async () => {
      await this.#models.get(id)!.model();
      return { type: "create_model", model_id: id };
    }, once);
    return { request_id, model_id: id };
  }

  /** Opens a model. Throws `RequestError` 404 for a session that has ended, and 429 if there are too many models. */
  #open(options: {
    readonly id: string;
    readonly sessionId: string;
    readonly shape: ModelShape;
    readonly seed?: number | undefined;
  }): ServedModel {
    const { id, sessionId, shape, seed } = options;
    const { maxModels, source, backend, gapMs, maxSamplers } = this.#options;
    this.touch(sessionId);
    if (this.#models.size >= maxModels) {
      throw new RequestError(
        429,
        `The server already has ${maxModels} models, its maximum. Unload one, or end its session.`,
      );
    }
    const opened = backend.openModel({ source, trainable: trainableOf(shape, seed) });
    const served = new ServedModel({ id, sessionId, shape, opened, gapMs, maxSamplers });
    this.#models.set(id, served);
    // A model that fails to open does not count toward maxModels.
    opened.catch(() => this.#models.delete(id));
    return served;
  }

  info(modelId: string): ModelInfo {
    const { rank } = this.#modelOf(modelId).shape;
    const model_name = this.baseName;
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
      const model = await served.model();
      const path = await this.checkpoints.save(
        {
          ...served.checkpoint("weights"),
          name: body.path,
          overwrite: body.overwrite === true,
          ttl: body.ttl_seconds,
        },
        (folder) => model.save(folder),
      );
      return { type: "save_weights", path };
    });
  }

  /** Loads weights into a model, or into a new one of the session if the request has no model. */
  async loadWeights({ body, digest }: Sent<z.output<typeof bodies.loadBody>>): Promise<Promised> {
    const { path, optimizer } = body;
    this.checkpoints.checkPath(path, "weights");
    const load = async (served: ServedModel): Promise<ServiceResult> => {
      const model = await served.model();
      await model.load((await this.checkpoints.find(path)).folder, { optimizer });
      served.forgetCurrent();
      return { type: "load_weights", path, model_id: served.id };
    };
    if (body.model_id) return this.#operate({ model_id: body.model_id, seq_id: body.seq_id }, digest, load);
    const { session_id: sessionId, model_seq_id: number } = body;
    if (!sessionId || number === undefined || number === null) {
      throw new RequestError(400, "load_weights needs a model_id, or a session_id and a model_seq_id.");
    }
    if (body.base_model) this.#checkBase(body.base_model);
    checkOptimizer(body.optimizer_config?.type);
    const { shape } = await this.checkpoints.find(path);
    const id = `${sessionId}:train:${number}`;
    const once = { owner: sessionId, key: `model-${number}`, digest };
    if (!this.futures.has(sessionId, once.key)) this.#open({ id, sessionId, shape });
    const request_id = this.futures.start(() => {
      const served = this.#modelOf(id);
      return served.queue.add(() => load(served));
    }, once);
    return { request_id, model_id: id };
  }

  saveWeightsForSampler({ body, digest }: Sent<z.output<typeof bodies.saveForSamplerBody>>): Promised {
    const { path: saved, sampling_session_seq_id: number } = body;
    return this.#operate(body, digest, async (served) => {
      if (saved === undefined || saved === null) {
        const id = `${served.sessionId}:sample:${number ?? randomUUID()}`;
        // No checkpoint has this name, because names of checkpoints have no @.
        const name = body.kind === "inflight" ? "@inflight" : `@session-${number ?? id}`;
        const path = `tinker://${served.id}/sampler_weights/${name}`;
        await served.addSampler(path);
        this.sampling.add(id, served.sessionId, path);
        return { type: "save_weights_for_sampler", sampling_session_id: id };
      }
      const path = await this.#export(served, "sampler_weights", {
        name: saved,
        overwrite: true,
        ttl: body.ttl_seconds,
      });
      await served.addSampler(path);
      return { type: "save_weights_for_sampler", path };
    });
  }

  /** Saves an adapter or a model for a download. Throws `RequestError` 400 for encrypted files. */
  saveWeightsExternal({ body, digest }: Sent<z.output<typeof bodies.saveExternalBody>>): Promised {
    if ((body.age_encryption_recipients ?? []).length > 0) {
      throw new RequestError(400, "age_encryption_recipients is not supported: files are not encrypted.");
    }
    return this.#operate(body, digest, async (served) => {
      const how = { name: body.path, overwrite: false, ttl: body.ttl_seconds };
      const path = await this.#export(served, "external_weights", how);
      return { type: "save_weights_external", path, size_bytes: (await this.checkpoints.find(path)).bytes };
    });
  }

  async #export(
    served: ServedModel,
    kind: "sampler_weights" | "external_weights",
    how: { readonly name: string; readonly overwrite: boolean; readonly ttl: number | null | undefined },
  ): Promise<string> {
    const model = await served.model();
    return this.checkpoints.save({ ...served.checkpoint(kind), ...how }, (folder) =>
      model.export(folder, model.isAdapter ? "peft" : "huggingface"),
    );
  }

  unload({ body, digest }: Sent<z.output<typeof bodies.modelBody>>): Promised {
    const served = this.#modelOf(body.model_id);
    return this.#operate(body, digest, async () => {
      await this.#close(served);
      return { type: "unload_model", model_id: served.id };
    });
  }

  /** Ends a session, aborts its samples and closes its models. */
  async endSession(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId);
    this.sampling.end(sessionId);
    this.futures.forget(sessionId);
    this.#recorded.forget(sessionId);
    const models = [...this.#models.values()].filter((served) => served.sessionId === sessionId);
    await Promise.all(models.map((served) => this.#close(served)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#expiry);
    for (const id of this.#sessions.keys()) await this.endSession(id);
    await this.#stored[Symbol.asyncDispose]();
    await closeFrozen(this.#base);
  }

  #operate(
    { model_id, seq_id }: { readonly model_id: string; readonly seq_id?: number | null | undefined },
    digest: string,
    work: (served: ServedModel) => Promise<ServiceResult>,
  ): Promised {
    const served = this.#modelOf(model_id);
    const sequence = seq_id ?? undefined;
    if (sequence === undefined) return { request_id: this.futures.start(() => served.queue.add(() => work(served))) };
    if (!this.futures.has(model_id, sequence) && !served.queue.accepts(sequence)) {
      throw new RequestError(409, `Request ${sequence} of ${model_id} is too late: a later request has already run.`);
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

  async #namedSampler(name: string): Promise<Sampler | undefined> {
    if (this.#options.names.includes(name)) return (await this.#baseModel()).sampler;
    const served = this.#models.get(name);
    if (served === undefined && modelIdOf(name) === undefined) return undefined;
    try {
      if (served === undefined) return await this.#samplerOf(name);
      this.touch(served.sessionId);
      return await served.current();
    } catch (error) {
      if (error instanceof RequestError) return undefined;
      throw error;
    }
  }

  /** Returns the sampler of saved weights: that of an open model, or one that is opened from its checkpoint. */
  async #samplerOf(path: string): Promise<Sampler> {
    const served = this.#models.get(modelIdOf(path) ?? "");
    if (served !== undefined) this.touch(served.sessionId);
    const sampler = served?.sampler(path);
    if (sampler === undefined && path.includes("/@")) {
      throw new RequestError(404, `The weights ${path} are no longer in memory. Save them under a name.`);
    }
    return sampler ?? this.#stored.get(path);
  }

  #checkBase(name: string): void {
    const { names } = this.#options;
    if (!names.includes(name))
      throw new RequestError(400, `The base model ${name} is not served. Served: ${names.join(", ")}.`);
  }

  #baseModel(): Promise<FrozenModel> {
    const { backend, source } = this.#options;
    this.#base ??= openFrozen(backend, source);
    return this.#base;
  }

  async #close(served: ServedModel): Promise<void> {
    this.#models.delete(served.id);
    this.futures.forget(served.id);
    await served[Symbol.asyncDispose]();
  }

  /** Ends old sessions, and drops old results and recorded completions. */
  #expire(): void {
    this.futures.expire();
    this.#recorded.expire();
    const oldest = Date.now() - this.#options.sessionMs;
    for (const [id, used] of this.#sessions) {
      // An engine that cannot close a model has ended, and its models with it.
      if (used < oldest) this.endSession(id).catch(() => undefined);
    }
  }
}
