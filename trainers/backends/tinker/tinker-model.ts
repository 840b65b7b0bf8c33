import { randomUUID } from "node:crypto";
import type { Sampler } from "../../../src/contract/sampler.ts";
import type { Renderer } from "../../../src/core/tokens/renderer.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { checkAdamParams } from "../../backend/check-spec.ts";
import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import type {
  AdamParams,
  ExportFormat,
  ForwardOutput,
  ForwardResult,
  LossResult,
  Model,
  ModelSpec,
  PassOptions,
  StepMetrics,
} from "../../backend/training-backend.ts";
import { writeModelChecksums } from "../../model-folders/weights/model-checksums.ts";
import type { TinkerDatum } from "../../tinker/protocol/pass-request.ts";
import { checkData, checkTerms } from "../shared/check-input.ts";
import { exportArchive } from "./export-archive.ts";
import type { GradientRule } from "./gradient-rule.ts";
import { lossResult } from "./loss-result.ts";
import { openSamplingSession, type PassPromise, RemoteModel } from "./remote-model.ts";
import { readState, writeState } from "./saved-state.ts";
import { planLoss, type ServerLoss, trainedTargets } from "./server-loss.ts";
import { isUnknownOutcome, notFinite, unavailable, unsupported } from "./tinker-error.ts";
import { TinkerSampler } from "./tinker-sampler.ts";
import type { TinkerSession } from "./tinker-session.ts";

/** The options of {@link TinkerModel}. */
export interface TinkerModelOptions {
  readonly session: TinkerSession;
  readonly spec: ModelSpec;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly baseModel: string;
  /** The rank of the adapter. 0 trains every weight. Undefined for a frozen model, which needs no adapter. */
  readonly rank: number | undefined;
  readonly seed: number;
  /** The path of saved weights: a state to load if there is a rank, otherwise sampler weights. */
  readonly saved?: string | undefined;
  readonly limits: { readonly maxLength: number; readonly vocabularySize: number };
  /** The number of values of an adapter of rank 1. */
  readonly adapterSize: number;
  /** How the server combines token losses into a gradient. */
  readonly rule: GradientRule;
  readonly signal?: AbortSignal | undefined;
}

/** The maximum number of tries on new models if the outcome of an operation is unknown. */
const mostTries = 3;

/** A model on a server of the Tinker API. */
export class TinkerModel implements Model {
  readonly spec: ModelSpec;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly isAdapter: boolean;
  /** 0 if every weight is trained, or if the model's family is not known here. */
  readonly parameterCount: number;
  readonly maxLength: number;
  /** SkyRL's JAX backend loads weights for sampling into the model in training. It is known by its rule. */
  readonly samplesEarlierWeights: boolean;
  readonly #options: TinkerModelOptions;
  #remote: RemoteModel | undefined;
  #version = 0;
  /** The number of data whose gradient waits for the optimizer step. */
  #accumulated = 0;
  /** True if the server may have a gradient of a pass that failed or was aborted. */
  #stale = false;
  /** True if it is unknown whether the server has applied a step. */
  #broken = false;
  #applied: { readonly stepId: number; readonly metrics: StepMetrics } | undefined;
  #closed = false;

  private constructor(options: TinkerModelOptions, remote: RemoteModel | undefined) {
    this.#options = options;
    this.spec = options.spec;
    this.tokenizer = options.tokenizer;
    this.renderer = options.renderer;
    this.maxLength = options.limits.maxLength;
    this.samplesEarlierWeights = options.rule === "sum";
    this.isAdapter = (options.rank ?? 0) > 0;
    this.parameterCount = (options.rank ?? 0) * options.adapterSize;
    this.#remote = remote;
  }

  /** Creates the model on the server. A frozen model is created at its first forward pass. */
  static async open(options: TinkerModelOptions): Promise<TinkerModel> {
    const { rank, saved } = options;
    const remote = rank === undefined ? undefined : await createRemote(options);
    if (saved !== undefined) await remote?.load(saved, false);
    return new TinkerModel(options, remote);
  }

  get version(): number {
    return this.#version;
  }

  async forward(
    data: readonly Datum[],
    options: PassOptions & { readonly outputs: readonly ForwardOutput[] },
  ): Promise<ForwardResult[]> {
    const { outputs } = options;
    if (outputs.includes("values")) throw noValues();
    if (outputs.includes("entropy")) throw noEntropy();
    this.#checkData(data);
    const logprobs = await this.#logprobs(data, options);
    return logprobs.map((values) => ({ logprobs: values }));
  }

  async forwardBackward(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions = {},
  ): Promise<LossResult> {
    return (await this.#startPass(data, terms, options))(options.signal);
  }

  async optimStep(params: AdamParams, { stepId }: { readonly stepId: number }): Promise<StepMetrics> {
    if (this.#applied !== undefined && stepId <= this.#applied.stepId) return this.#applied.metrics;
    return (await this.#startStep(params, stepId))();
  }

  async trainStep(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions & { readonly adam: AdamParams; readonly stepId: number },
  ): Promise<{ readonly loss: LossResult; readonly step: StepMetrics }> {
    checkAdamParams(options.adam);
    const pass = await this.#startPass(data, terms, options);
    if (!this.#options.session.runsInOrder) {
      const loss = await pass(options.signal);
      return { loss, step: await (await this.#startStep(options.adam, options.stepId))() };
    }
    // The step is on its way now. An abort no longer stops either.
    const step = await this.#startStep(options.adam, options.stepId);
    return { loss: await pass(), step: await step() };
  }

  async snapshot(): Promise<Sampler> {
    const { session, baseModel, tokenizer, limits } = this.#options;
    const remote = this.#remote;
    const version = this.#version;
    const path = remote === undefined ? undefined : await remote.saveForSampler(stateName("sampler", version));
    const modelPath = path ?? this.#options.saved;
    const weights = modelPath === undefined ? { base_model: baseModel } : { model_path: modelPath };
    return new TinkerSampler({
      session,
      samplingSession: await openSamplingSession(session, weights),
      version,
      tokenizer,
      limits,
      check: () => {
        if (path !== undefined && !this.samplesEarlierWeights && version !== this.#version) throw earlierWeights();
      },
      onClose: () => void (path === undefined ? undefined : deleteSaved(session, path, "sampler_weights")),
    });
  }

  async save(folder: string): Promise<void> {
    const { baseModel, rank = 0 } = this.#options;
    this.#checkWhole();
    const path = await this.#trained().save(stateName("step", this.#version));
    await writeState(folder, { path, baseModel, rank, version: this.#version });
  }

  async discard(folder: string): Promise<string | undefined> {
    const { path } = await readState(folder);
    return (await deleteSaved(this.#options.session, path, "weights")) ? undefined : path;
  }

  async load(folder: string, { optimizer = true }: { readonly optimizer?: boolean } = {}): Promise<void> {
    const state = await readState(folder);
    const { baseModel, rank = 0 } = this.#options;
    if (state.baseModel !== baseModel || state.rank !== rank) {
      throw unsupported(
        `The checkpoint ${folder} is an adapter of rank ${state.rank} on ${state.baseModel}, not of rank ${rank} on ${baseModel}.`,
        "Resume with the model and the rank of the run.",
      );
    }
    await this.#reload(state.path, optimizer);
    this.#version = state.version;
    this.#accumulated = 0;
    this.#stale = false;
    this.#broken = false;
    this.#applied = undefined;
  }

  async export(folder: string, format: ExportFormat): Promise<void> {
    const { session, spec } = this.#options;
    if (format !== "peft" || !this.isAdapter) {
      throw unsupported(
        "A model on a server can only be exported as a PEFT adapter.",
        "Train an adapter with export.format: peft. Merge it by lyceum export --merged.",
      );
    }
    const path = await this.#trained().saveForSampler(stateName("export", this.#version));
    await exportArchive(session.connection, { path, folder, source: spec.source });
    await writeModelChecksums(folder);
    await deleteSaved(session, path, "sampler_weights");
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#remote?.unload();
  }

  /** Sends a pass. The returned function waits for its result, and stops at its signal. */
  async #startPass(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions,
  ): Promise<(signal?: AbortSignal) => Promise<LossResult>> {
    const { session, rule } = this.#options;
    this.#checkData(data);
    for (const { type } of terms) if (type === "entropy") throw noEntropy();
    checkTerms(data, terms, false);
    this.#checkWhole();
    const { signal, onProgress } = options;
    const server = { rule, has: (name: string) => session.hasLoss(name) };
    const plan = planLoss(terms, server);
    // A datum without trained targets has no gradient, and would count in a mean.
    const trained = data.flatMap((datum, index) => (trainedTargets(datum) > 0 ? [index] : []));
    const parts = trained.map((index) => data[index]!);
    if (rule === "mean" && this.#accumulated > 0 && parts.length > 0) throw onePassPerStep();
    const current = plan.needsLogprobs ? await this.#logprobs(parts, { signal }) : undefined;
    signal?.throwIfAborted();
    const encoded = parts.map((datum, i) => plan.encode(datum, { count: parts.length, logprobs: current?.[i] }));
    // JSON has no such numbers.
    if (!encoded.every(isRepresentable)) throw notFinite("A weight, an advantage or a log-probability of the data");
    const pass = await this.#sendPass(encoded, plan.loss);
    this.#accumulated += parts.length;
    return async (stop) => {
      try {
        const found = await pass.result((first, count) => {
          onProgress?.(progressOf(parts.slice(first, first + count)));
          stop?.throwIfAborted();
        });
        return lossResult({ data, terms, trained, found });
      } catch (error) {
        this.#stale = true;
        throw error;
      }
    };
  }

  /**
   * Sends the data of a pass. If it is unknown whether the server has a part of them, drops the gradient and sends
   * them again.
   */
  async #sendPass(data: readonly TinkerDatum[], loss: ServerLoss): Promise<PassPromise> {
    for (let tries = 1; ; tries++) {
      if (this.#stale) await this.#dropGradient();
      try {
        return await this.#trained().forwardBackward(data, loss);
      } catch (error) {
        this.#stale = true;
        // The gradient of earlier passes of this step would be dropped too.
        if (!isUnknownOutcome(error) || this.#accumulated > 0 || tries === mostTries) throw error;
      }
    }
  }

  /** Drops the gradient on the server: saved weights have none, so that a model that loads them has none either. */
  async #dropGradient(): Promise<void> {
    const path = await this.#trained().save(stateName("drop", this.#version));
    await this.#reload(path, true);
    this.#stale = false;
    this.#accumulated = 0;
  }

  /** Loads weights into a new model on the server. The API allows loading only as the first request. */
  async #reload(path: string, optimizer: boolean): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (this.#trained().used) {
        await this.#trained().unload();
        this.#remote = await createRemote(this.#options);
      }
      try {
        return await this.#trained().load(path, optimizer);
      } catch (error) {
        if (!isUnknownOutcome(error) || tries === mostTries) throw error;
      }
    }
  }

  /** Sends an optimizer step. The returned function waits for its result. */
  async #startStep(params: AdamParams, stepId: number): Promise<() => Promise<StepMetrics>> {
    checkAdamParams(params);
    this.#checkWhole();
    if (this.#stale) await this.#dropGradient();
    this.#broken = true;
    const sent = await this.#trained().optimStep(params);
    return async () => {
      const gradientNorm = (await sent.result()) ?? 0;
      this.#broken = false;
      this.#accumulated = 0;
      this.#version += 1;
      const metrics = { gradientNorm, version: this.#version };
      this.#applied = { stepId, metrics };
      return metrics;
    };
  }

  async #logprobs(data: readonly Datum[], options: PassOptions): Promise<Float32Array[]> {
    if (data.length === 0) return [];
    const { signal, onProgress } = options;
    if (this.#remote === undefined && this.#options.saved !== undefined) throw samplerOnly(this.#options.saved);
    this.#remote ??= await createRemote({ ...this.#options, rank: 1 });
    const plan = planLoss([{ type: "crossEntropy" }], { rule: "sum", has: () => true });
    const encoded = data.map((datum) => plan.encode(datum, { count: 1 }));
    const pass = await this.#remote.forward(encoded, { signal });
    const found = await pass.result((first, count) => onProgress?.(progressOf(data.slice(first, first + count))));
    return found.map((values, i) => values.map((value, t) => (data[i]!.lossMask[t] === 0 ? 0 : value)));
  }

  #trained(): RemoteModel {
    if (this.#remote !== undefined && this.#options.rank !== undefined) return this.#remote;
    throw unsupported("A frozen model cannot be trained or saved.", "Open it with an adapter.");
  }

  #checkData(data: readonly Datum[]): void {
    checkData(data, this.#options.limits);
    for (const { temperature = 1, supports } of data) {
      if (temperature === 1 && supports === undefined) continue;
      throw unsupported(
        "The server computes log-probabilities of the whole distribution at temperature 1 only.",
        "Set sampling.temperature to 1 and remove topK, topP and minP.",
      );
    }
  }

  #checkWhole(): void {
    if (!this.#broken) return;
    throw unavailable("An earlier request of this model failed, so that its state on the server is unknown.");
  }
}

async function createRemote(options: TinkerModelOptions): Promise<RemoteModel> {
  const { session, baseModel, rank = 0, seed, signal } = options;
  return RemoteModel.create({ session, baseModel, rank, seed, signal });
}

function isRepresentable({ lossInputs }: TinkerDatum): boolean {
  return Object.values(lossInputs).every(({ data }) => data.every(Number.isFinite));
}

function progressOf(data: readonly Datum[]) {
  return { sequences: data.length, tokens: data.reduce((sum, datum) => sum + trainedTargets(datum), 0) };
}

/** A name that the server has not seen. Names have letters, digits, - and _ only. */
function stateName(kind: string, version: number): string {
  return `${kind}-${version}-${randomUUID().slice(0, 8)}`;
}

/** Deletes saved weights. Returns false if the server cannot. The path of sampler weights has no kind on SkyRL. */
async function deleteSaved(
  session: TinkerSession,
  path: string,
  kind: "weights" | "sampler_weights",
): Promise<boolean> {
  const [model, name] = [path.split("/")[2], path.split("/").at(-1)];
  return session.connection.delete(`training_runs/${model}/checkpoints/${kind}/${name}`);
}

function noValues(): Error {
  return unsupported("A model on a server has no value head.", "Choose an algorithm without a critic, such as grpo.");
}

function samplerOnly(path: string): Error {
  return unsupported(`${path} can only be sampled.`, "Name a state for training, such as tinker://MODEL/weights/NAME.");
}

function noEntropy(): Error {
  return unsupported(
    "The Tinker API has no entropy.",
    "Remove the entropy bonus (entropyWeight: 0), or train on the embedded engine.",
  );
}

function earlierWeights(): Error {
  return unsupported(
    "This server loads weights for sampling into the model in training, so that it cannot sample from earlier weights.",
    "Set rollout.maxStaleness to 0.",
  );
}

function onePassPerStep(): Error {
  return unsupported(
    "This server averages gradients over all sequences of a step, so that a step has only one pass.",
    "Pass all data of an optimizer step to one forwardBackward.",
  );
}
