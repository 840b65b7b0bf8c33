import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { TrainableSpec } from "../../../backend/training-backend.ts";
import {
  adaptableLayers,
  checkTargets,
  loraParameters,
  shortestTargets,
} from "../../../model-folders/architecture/lora-layers.ts";
import type { WritableDtype } from "../../../model-folders/weights/float-conversion.ts";
import { transposeMatrix } from "../../../model-folders/weights/transpose.ts";
import type { LocalSource } from "../../shared/open-source.ts";
import { openTokenizer, type TokenizerSource } from "../../shared/tokenizer-source.ts";
import { initializeParameters } from "../models/initial-weights.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import { checkParameterMemory, hasRoomForDecodingCopy, largeBase } from "../models/parameter-memory.ts";
import { valueHeadParameters } from "../models/value-head.ts";
import { AdapterBuffers } from "./adapter-buffer.ts";
import { BaseStore, type BaseWeights, loadBase, notQuantizable } from "./base-store.ts";
import type { EngineCalls, EngineSettings } from "./engine-calls.ts";
import { EngineModel } from "./engine-model.ts";
import { type AdapterForm, dtypeNames, exportModel } from "./export-model.ts";
import { KeptMemory } from "./kept-memory.ts";
import type { KeptPrefixes } from "./kept-prefixes.ts";
import { runLogits } from "./logits.ts";
import { LossScale } from "./loss-scale.ts";
import { loadTrainingState, saveTrainingState } from "./model-files.ts";
import { PositionTables } from "./position-tables.ts";
import { BatchSampler } from "./sampler.ts";
import { SequenceRunner } from "./sequence-runner.ts";
import { SessionCache } from "./session-cache.ts";
import { checkContinued, readStoredAdapter } from "./stored-adapter.ts";
import { storedForm } from "./stored-form.ts";
import { type ModelWeights, quantizedBits } from "./weights.ts";

/** The engine's data of an open model. */
interface OpenModel {
  /** The source of the base weights. */
  readonly source: LocalSource;
  readonly tokenizer: TokenizerSource;
  /** The model's adapter. Undefined in a full model. */
  readonly lora: AdapterForm | undefined;
  /** The key under which the base weights are shared. */
  readonly baseKey: string;
  /** The type of the weights in the base's files. */
  readonly dtype: WritableDtype;
  /** True if other models may use the same base weights. */
  readonly shared: boolean;
  readonly model: EngineModel;
  readonly tables: PositionTables;
}

interface OpenSampler {
  readonly sampler: BatchSampler;
  readonly kept: KeptPrefixes;
  /** True if its model is not trained. */
  readonly isFrozen: boolean;
  /** Called when the sampler is closed. */
  readonly release: () => void;
}

/** The interval at which a sampling call reports its number of tokens. */
const tokenReportMs = 250;

/** Creates the part that runs on the engine's thread: models, samplers and their compiled graphs. */
export function createEngine(settings: EngineSettings): EngineCalls {
  const { device, deviceIndex, threads, quantize, roundInputs } = settings;
  const sessions = new SessionCache({ device, deviceIndex, threads });
  const bases = new BaseStore(quantize && { bits: quantize, roundInputs });
  const adapterBuffers = new AdapterBuffers();
  const keptMemory = new KeptMemory(settings.keptBytes);
  const models = new Map<number, OpenModel>();
  const samplers = new Map<number, OpenSampler>();
  let lastId = 0;
  const modelOf = (id: number): OpenModel => {
    const open = models.get(id);
    if (open === undefined) throw closed("model");
    return open;
  };

  /**
   * Samplers of frozen models outlive the steps of a training. They forget what they have read when a step begins to
   * sample or to learn: learning needs the memory, and a resumed training must continue as one that was not stopped.
   */
  const forgetFrozen = (): void => {
    for (const { kept, isFrozen } of samplers.values()) if (isFrozen) kept.clear();
  };

  const samplerOf = (id: number): BatchSampler => {
    const open = samplers.get(id);
    if (open === undefined) throw closed("sampler");
    return open.sampler;
  };

  return {
    open: async ({ source: given, tokenizer, trainable, valueHead = false }) => {
      const { source, adapter: stored } = baseOf(given, trainable);
      const shared = trainable.type !== "full";
      if (quantize !== undefined && !shared) throw notQuantizable();
      const own = shared ? undefined : await loadBase(source, { valueHead, trained: true });
      const base = own ?? (await bases.share(source));
      const { config, dtype } = base;
      const opened = await openAdapter({ base, stored, trainable, valueHead }).catch((error: unknown) => {
        if (shared) bases.release(source);
        throw error;
      });
      const tables = new PositionTables(config);
      const weights = { config, base: base.block, ...opened?.weights };
      const trained = { full: own?.block, lora: opened?.weights.adapter.block, frozen: undefined }[trainable.type];
      const maxTokensPerMicroBatch = settings.maxTokensPerMicroBatch;
      const lossScale = settings.precision === "float16" ? new LossScale() : undefined;
      const runner = new SequenceRunner({ sessions, tables, maxTokensPerMicroBatch, lossScale });
      lastId += 1;
      const model = new EngineModel({ weights, trained, runner, lossScale, dropout: dropoutOf(trainable) });
      models.set(lastId, { source, tokenizer, lora: opened?.form, baseKey: base.key, dtype, shared, model, tables });
      return {
        model: lastId,
        isAdapter: opened !== undefined,
        parameterCount: trained?.data.length ?? 0,
        maxLength: config.maxPositions,
        vocabularySize: config.vocabularySize,
      };
    },
    forward: ({ model, data, outputs, maxTokensPerMicroBatch }, { signal, emit }) =>
      modelOf(model).model.forward(data, outputs, { signal, maxTokensPerMicroBatch, onProgress: emit }),
    forwardBackward: async ({ model: id, data, terms, maxTokensPerMicroBatch }, { signal, emit }) => {
      const { model, baseKey } = modelOf(id);
      forgetFrozen();
      if (model.weights.base.byteLength > largeBase) await sessions.release(`decode|${baseKey}`);
      return model.forwardBackward(data, terms, { signal, maxTokensPerMicroBatch, onProgress: emit });
    },
    optimStep: async ({ model, params, stepId }) => modelOf(model).model.optimStep(params, stepId),
    snapshot: async ({ model: id }) => {
      const { model, baseKey, shared, tokenizer, tables } = modelOf(id);
      const isFrozen = model.trained === undefined;
      if (!isFrozen) forgetFrozen();
      const { weights, release } = model.borrow();
      const kept = keptMemory.open(weights.config);
      const sampler = new BatchSampler({
        weights,
        sessions,
        tables,
        adapterBuffers,
        settings: { batchSize: settings.decodeBatchSize, maxTokensPerPrefill: settings.maxTokensPerMicroBatch },
        frozenBase: shared && copiesForDecoding(weights) ? baseKey : undefined,
        kept,
        tokenizer: () => openTokenizer(tokenizer),
      });
      lastId += 1;
      samplers.set(lastId, { sampler, kept, isFrozen, release });
      return { sampler: lastId, version: model.version };
    },
    sample: async ({ sampler: id, requests, reportTokens, shared, reuse }, { signal, dropped, emit, room }) => {
      const sampler = samplerOf(id);
      signal.throwIfAborted();
      let lastReport = performance.now();
      const onTokens = (count: number): void => {
        if (performance.now() - lastReport < tokenReportMs) return;
        lastReport = performance.now();
        emit(count);
      };
      const reports = { onTokens, onSample: emit, ...(reportTokens ? { onSampled: emit, room } : {}) };
      await sampler.sample(requests, { signal, dropped, shared, reuse, ...reports });
    },
    score: ({ sampler, request }, { signal }) => samplerOf(sampler).score(request, signal),
    save: ({ model, folder }) => saveTrainingState(modelOf(model).model, folder),
    load: async ({ model: id, folder, optimizer }) => {
      const { model } = modelOf(id);
      await loadTrainingState(model, folder, { optimizer });
      return { version: model.version };
    },
    export: ({ model: id, folder, format, dtype: asked }) => {
      const { model, source, tokenizer, lora, dtype: own } = modelOf(id);
      const dtype = (["F32", "F16", "BF16"] as const).find((type) => dtypeNames[type] === asked) ?? own;
      return exportModel({ weights: model.weights, source, tokenizer, lora, folder, format, dtype });
    },
    closeModel: async ({ model: id }) => {
      const open = models.get(id);
      models.delete(id);
      if (open?.shared === true && bases.release(open.source)) await sessions.release(`decode|${open.baseKey}`);
    },
    closeSampler: async ({ sampler }) => {
      const open = samplers.get(sampler);
      samplers.delete(sampler);
      if (open === undefined) return;
      open.release();
      keptMemory.close(open.kept);
    },
    readLogits: ({ model: id, ids }) => {
      const { model, tables } = modelOf(id);
      return runLogits({ weights: model.weights, sessions, tables, ids });
    },
    readGradients: async ({ model: id }) => {
      const { trained, gradient } = modelOf(id).model;
      if (trained === undefined || gradient === undefined) return [];
      const block = trained.over(gradient);
      return block.specs.map((spec) => storedForm(spec, block.view(spec.name).slice()));
    },
    setParameters: async ({ model: id, parameters }) => {
      const trained = modelOf(id).model.writable();
      const specs = new Map(trained.specs.map((spec) => [spec.name, spec]));
      for (const { name, shape, data } of parameters) {
        trained.view(name).set(specs.get(name)?.transposed === true ? transposeMatrix(data, shape) : data);
      }
    },
    close: async () => {
      models.clear();
      samplers.clear();
      await sessions[Symbol.asyncDispose]();
    },
  };
}

function closed(what: string): LyceumError {
  return new LyceumError({
    code: "backend.failed",
    message: `This ${what} is closed.`,
    hint: "Close it after its last use, or open another.",
  });
}

/**
 * Returns the base of a model, and the adapter that stays separate. All other adapters are merged when the base is
 * loaded.
 */
function baseOf(source: LocalSource, trainable: TrainableSpec): { source: LocalSource; adapter?: string | undefined } {
  const merges = trainable.type === "full" || (trainable.type === "lora" && trainable.start === "merge");
  if (source.type === "scratch" || merges) return { source };
  const { adapter, ...base } = source;
  return { source: base, adapter };
}

/** Returns the adapter of a model: a stored one, a new one, or undefined. */
async function openAdapter(options: {
  readonly base: BaseWeights;
  readonly stored: string | undefined;
  readonly trainable: TrainableSpec;
  readonly valueHead: boolean;
}): Promise<{ weights: Required<Pick<ModelWeights, "adapter">>; form: AdapterForm } | undefined> {
  const { base, stored, trainable, valueHead } = options;
  const head = valueHead ? valueHeadParameters(base.config) : [];
  const dropout = trainable.type === "lora" ? trainable.lora.dropout : undefined;
  if (trainable.type === "lora") checkTargets(base.config, trainable.lora.targets);
  if (stored !== undefined) {
    const adapter = await readStoredAdapter(stored, base, trainable.type === "lora" ? head : []);
    if (trainable.type === "lora") checkContinued(adapter, trainable.lora, base.config);
    const { block, config } = adapter;
    const { rank, alpha, targets } = config;
    return { weights: { adapter: { block, scale: alpha / rank } }, form: { rank, alpha, targets, dropout } };
  }
  if (trainable.type !== "lora") return undefined;
  const everyLayer = shortestTargets(base.config, adaptableLayers(base.config));
  const { rank = 16, alpha = 32, targets = everyLayer, seed = 0 } = trainable.lora;
  const specs = [...loraParameters(base.config, { rank, targets }), ...head];
  checkParameterMemory(specs, { trained: true });
  const block = new ParameterBlock(specs);
  initializeParameters(block, { seed, deviation: "inputs" });
  return { weights: { adapter: { block, scale: alpha / rank } }, form: { rank, alpha, targets, dropout } };
}

/** Quantized weights are multiplied as constants only, and their copy is small. */
function copiesForDecoding(weights: ModelWeights): boolean {
  return quantizedBits(weights) !== undefined || hasRoomForDecodingCopy(weights.base.byteLength);
}

function dropoutOf(trainable: TrainableSpec): { readonly rate: number; readonly seed: number } | undefined {
  if (trainable.type !== "lora") return undefined;
  const { dropout = 0, seed = 0 } = trainable.lora;
  return dropout === 0 ? undefined : { rate: dropout, seed };
}
