import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Sample, SampleRequest, Sampler } from "../../src/contract/sampler.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { createByteRenderer } from "../../src/core/tokens/byte-renderer.ts";
import { createByteTokenizer } from "../../src/core/tokens/byte-tokenizer.ts";
import type { Datum } from "../../trainers/backend/datum.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import { tokenLossOf } from "../../trainers/backend/loss-values/token-loss-of.ts";
import { valueLoss } from "../../trainers/backend/loss-values/value-loss.ts";
import { microBatches } from "../../trainers/backend/micro-batches.ts";
import type {
  AdamParams,
  ForwardOutput,
  ForwardResult,
  LossResult,
  Model,
  ModelSpec,
  PassOptions,
  StepMetrics,
  TrainingBackend,
} from "../../trainers/backend/training-backend.ts";
import { negativeEntropy } from "./negative-entropy.ts";

/**
 * A small training backend that needs no engine: a softmax over the byte vocabulary for each pair of preceding tokens,
 * and a value head on request, with exact gradients in float64. It learns small tasks in milliseconds and is an example
 * of the interface.
 */
export function createBigramBackend(): TrainingBackend {
  const models: Model[] = [];
  const close = async (): Promise<void> => {
    for (const model of models.splice(0)) await model.close();
  };
  return {
    specificationVersion: "v1",
    capabilities: {
      name: "bigram",
      losses: ["crossEntropy", "policyGradient", "importanceSampling", "ppo", "cispo", "kl", "entropy", "value"],
      trainableSampling: ["temperature"],
      adapters: false,
      fullParameter: true,
      valueHead: true,
      sampledValues: true,
      deterministic: true,
      exportFormats: ["huggingface"],
    },
    openModel: async (spec, options) => {
      options?.signal?.throwIfAborted();
      const model = new BigramModel(spec);
      if (spec.source.type === "pretrained") await model.readWeights(spec.source.path);
      models.push(model);
      return model;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const vocabularySize = createByteTokenizer().vocabularySize;
const stateFile = "bigram.json";

/** The index of the value in the row of a context. */
const valueEntry = vocabularySize;
const rowLength = vocabularySize + 1;

/** Rows of logits and a value, by context. Rows are replaced and never changed, so a copy of the map is a snapshot. */
type Table = Map<number, Float64Array>;

interface Moments {
  readonly first: Float64Array;
  readonly second: Float64Array;
}

class BigramModel implements Model {
  readonly isAdapter = false;
  readonly spec: ModelSpec;
  readonly tokenizer = createByteTokenizer();
  readonly renderer = createByteRenderer();
  readonly parameterCount: number;
  readonly maxLength = 512;
  version = 0;
  #table: Table = new Map();
  #moments: Map<number, Moments> = new Map();
  #gradient: Table = new Map();
  #appliedStep = 0;
  #lastStep: StepMetrics = { gradientNorm: 0, version: 0 };

  constructor(spec: ModelSpec) {
    this.spec = spec;
    const perContext = spec.valueHead === true ? rowLength : vocabularySize;
    this.parameterCount = spec.trainable.type === "frozen" ? 0 : vocabularySize ** 2 * perContext;
    if (spec.valueHead === true && spec.trainable.type === "frozen") {
      throw new LyceumError({ code: "config.invalid", message: "A frozen model cannot have a value head." });
    }
  }

  async forward(
    data: readonly Datum[],
    options: PassOptions & { readonly outputs: readonly ForwardOutput[] },
  ): Promise<ForwardResult[]> {
    options.signal?.throwIfAborted();
    if (options.outputs.includes("values")) this.#requireValueHead();
    const onlyValues = options.outputs.every((name) => name === "values");
    for (const datum of data) this.#checkDatum(datum);
    return inMicroBatches(data, options, (datum) => {
      const logprobs = new Float32Array(datum.tokens.length);
      const entropy = new Float32Array(datum.tokens.length);
      const values = new Float32Array(datum.tokens.length);
      for (const [t, weight] of datum.lossMask.entries()) {
        if (weight === 0) continue;
        values[t] = this.#value(datum, t);
        if (onlyValues) continue;
        const distribution = this.#distribution(datum, t);
        logprobs[t] = distribution[datum.targets[t]!]!;
        if (options.outputs.includes("entropy")) entropy[t] = -negativeEntropy(distribution).value;
      }
      const all = { logprobs, entropy, values };
      return Object.fromEntries(options.outputs.map((name) => [name, all[name]]));
    });
  }

  async forwardBackward(
    data: readonly Datum[],
    terms: readonly LossTerm[],
    options: PassOptions = {},
  ): Promise<LossResult> {
    if (this.spec.trainable.type === "frozen") throw unsupported("a frozen model cannot be trained");
    for (const datum of data) this.#checkDatum(datum);
    options.signal?.throwIfAborted();
    const before = new Map(this.#gradient);
    const learnsValues = terms.some(({ type }) => type === "value");
    const onlyValues = learnsValues && terms.every(({ type }) => type === "value");
    if (learnsValues) this.#requireValueHead();
    const termSums = terms.map(() => 0);
    let tokens = 0;
    const pass = (datum: Datum): { readonly result: Float32Array; readonly predictions: Float32Array } => {
      const result = new Float32Array(datum.tokens.length);
      const predictions = new Float32Array(datum.tokens.length);
      for (const [t, mask] of datum.lossMask.entries()) {
        if (mask === 0) continue;
        tokens += 1;
        const target = datum.targets[t]!;
        const distribution = onlyValues ? uniform : this.#distribution(datum, t);
        result[t] = distribution[target]!;
        predictions[t] = this.#value(datum, t);
        const input = {
          logprob: distribution[target]!,
          mask,
          ...optional("advantage", datum.advantages?.[t]),
          ...optional("behaviourLogprob", datum.behaviourLogprobs?.[t]),
          ...optional("referenceLogprob", datum.referenceLogprobs?.[t]),
        };
        const row = this.#gradientRow(contextOf(datum.tokens, t), before);
        const temperature = datum.temperature ?? 1;
        for (const [i, term] of terms.entries()) {
          if (term.type === "value") {
            const target = datum.returns?.[t];
            const oldPrediction = datum.oldValues?.[t];
            if (target === undefined) throw unsupported("a value term reads returns");
            if (term.clip !== undefined && oldPrediction === undefined) throw unsupported("clipping reads old values");
            const state = {
              prediction: this.#value(datum, t),
              target,
              mask,
              ...optional("oldPrediction", oldPrediction),
            };
            const { value, derivative } = valueLoss(state, term.clip);
            termSums[i]! += (term.weight ?? 1) * value;
            row[valueEntry]! += (term.weight ?? 1) * derivative;
          } else if (term.type === "entropy") {
            const { value, derivatives } = negativeEntropy(distribution);
            const weight = (term.weight ?? 1) * mask;
            termSums[i]! += weight * value;
            for (let j = 0; j < vocabularySize; j++) row[j]! += (weight * derivatives[j]!) / temperature;
          } else {
            const { value, derivative } = tokenLossOf(term, input);
            termSums[i]! += value;
            for (let j = 0; j < vocabularySize; j++) row[j]! -= (derivative * Math.exp(distribution[j]!)) / temperature;
            row[target]! += derivative / temperature;
          }
        }
      }
      return { result, predictions };
    };
    let passed: ReturnType<typeof pass>[];
    try {
      passed = inMicroBatches(data, options, pass);
    } catch (error) {
      this.#gradient = before;
      throw error;
    }
    const loss = termSums.reduce((sum, value) => sum + value, 0);
    return {
      loss,
      terms: termSums,
      logprobs: onlyValues ? [] : passed.map(({ result }) => result),
      ...(learnsValues ? { values: passed.map(({ predictions }) => predictions) } : {}),
      tokens,
      metrics: {},
    };
  }

  async optimStep(params: AdamParams, options: { readonly stepId: number }): Promise<StepMetrics> {
    if (options.stepId <= this.#appliedStep) return this.#lastStep;
    let squares = 0;
    for (const row of this.#gradient.values()) for (const value of row) squares += value * value;
    const gradientNorm = Math.sqrt(squares);
    if (!Number.isFinite(gradientNorm)) {
      this.#gradient = new Map();
      throw new LyceumError({ code: "backend.not-finite", message: `The gradient norm is ${gradientNorm}.` });
    }
    const scale = Math.min(1, (params.clipNorm ?? Number.POSITIVE_INFINITY) / gradientNorm || 1);
    this.#applyAdam(params, scale);
    this.#gradient = new Map();
    this.#appliedStep = options.stepId;
    this.version += 1;
    this.#lastStep = { gradientNorm, version: this.version };
    return this.#lastStep;
  }

  async snapshot(): Promise<Sampler> {
    const withValues = this.spec.valueHead === true;
    return new BigramSampler({ table: new Map(this.#table), version: this.version, withValues });
  }

  async save(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    const rows = [...this.#table].map(([context, row]) => {
      const { first, second } = this.#moments.get(context)!;
      return [context, encoded(row), encoded(first), encoded(second)];
    });
    const state = { version: this.version, appliedStep: this.#appliedStep, lastStep: this.#lastStep, rows };
    await writeFile(join(folder, stateFile), JSON.stringify(state));
  }

  async load(folder: string, { optimizer = true }: { readonly optimizer?: boolean } = {}): Promise<void> {
    const state = JSON.parse(await readFile(join(folder, stateFile), "utf8"));
    this.version = state.version;
    this.#appliedStep = state.appliedStep;
    this.#lastStep = state.lastStep;
    this.#gradient = new Map();
    this.#table = new Map();
    this.#moments = new Map();
    for (const [context, row, first, second] of state.rows) {
      this.#table.set(context, savedRow(row));
      if (optimizer) this.#moments.set(context, { first: savedRow(first), second: savedRow(second) });
    }
  }

  async export(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    const rows = [...this.#table].map(([context, row]) => [context, encoded(row.with(valueEntry, 0)), "", ""]);
    await writeFile(join(folder, stateFile), JSON.stringify({ version: 0, appliedStep: 0, lastStep: null, rows }));
  }

  async close(): Promise<void> {}

  /** Reads the weights that `export` wrote, to start a new training run. */
  async readWeights(folder: string): Promise<void> {
    await this.load(folder);
    this.#lastStep = { gradientNorm: 0, version: 0 };
  }

  #applyAdam(params: AdamParams, scale: number): void {
    const { learningRate, beta1, beta2, epsilon, weightDecay } = params;
    const step = this.version + 1;
    const [correction1, correction2] = [1 - beta1 ** step, 1 - beta2 ** step];
    const zero = new Float64Array(rowLength);
    for (const context of new Set([...this.#table.keys(), ...this.#gradient.keys()])) {
      const gradient = this.#gradient.get(context) ?? zero;
      const before = this.#table.get(context) ?? zero;
      const moments = this.#moments.get(context) ?? { first: zero, second: zero };
      // Loops, because most trainings of the tests spend their time here.
      const [first, second, row] = [before.slice(), before.slice(), before.slice()];
      for (let j = 0; j < rowLength; j++) {
        first[j] = beta1 * moments.first[j]! + (1 - beta1) * scale * gradient[j]!;
        second[j] = beta2 * moments.second[j]! + (1 - beta2) * (scale * gradient[j]!) ** 2;
        const update = first[j]! / correction1 / (Math.sqrt(second[j]! / correction2) + epsilon);
        row[j] = before[j]! - learningRate * (update + weightDecay * before[j]!);
      }
      this.#table.set(context, row);
      this.#moments.set(context, { first, second });
    }
  }

  #distribution(datum: Datum, t: number): Float64Array {
    return logSoftmax(this.#table.get(contextOf(datum.tokens, t)), datum.temperature ?? 1);
  }

  #value(datum: Datum, t: number): number {
    return this.#table.get(contextOf(datum.tokens, t))?.[valueEntry] ?? 0;
  }

  #requireValueHead(): void {
    if (this.spec.valueHead !== true) throw unsupported("this model has no value head");
  }

  /** Returns the row of a context for changes. `before` keeps the rows as they were. */
  #gradientRow(context: number, before: Table): Float64Array {
    const old = before.get(context);
    const now = this.#gradient.get(context);
    if (now !== undefined && now !== old) return now;
    const row = old?.slice() ?? new Float64Array(rowLength);
    this.#gradient.set(context, row);
    return row;
  }

  #checkDatum(datum: Datum): void {
    const length = datum.tokens.length;
    const { targets, lossMask, advantages, behaviourLogprobs, referenceLogprobs, oldValues, returns } = datum;
    const arrays = [targets, lossMask, advantages, behaviourLogprobs, referenceLogprobs, oldValues, returns];
    if (arrays.some((array) => array !== undefined && array.length !== length)) {
      throw unsupported("a datum's arrays must have one length");
    }
    if (length > this.maxLength) throw unsupported(`a sequence has ${length} tokens, the most is ${this.maxLength}`);
    for (const id of [...datum.tokens, ...datum.targets]) {
      if (id < 0 || id >= vocabularySize) throw unsupported(`there is no token ${id}`);
    }
  }
}

/** Calls a function of each datum, one micro-batch after the other, and returns the results in order. */
function inMicroBatches<T>(
  data: readonly Datum[],
  { signal, maxTokensPerMicroBatch = 4096, onProgress }: PassOptions,
  pass: (datum: Datum) => T,
): T[] {
  const results = new Array<T>(data.length);
  const lengths = data.map(({ tokens }) => tokens.length);
  for (const indices of microBatches(lengths, maxTokensPerMicroBatch)) {
    for (const index of indices) results[index] = pass(data[index]!);
    const tokens = indices.reduce(
      (sum, index) => sum + data[index]!.lossMask.filter((weight) => weight !== 0).length,
      0,
    );
    onProgress?.({ sequences: indices.length, tokens });
    signal?.throwIfAborted();
  }
  return results;
}

class BigramSampler implements Sampler {
  readonly specificationVersion = "v1";
  readonly version: number;
  readonly #table: Table;
  readonly #withValues: boolean;

  constructor(options: { readonly table: Table; readonly version: number; readonly withValues: boolean }) {
    this.#table = options.table;
    this.version = options.version;
    this.#withValues = options.withValues;
  }

  async *sample(
    requests: readonly SampleRequest[],
    options?: { readonly signal?: AbortSignal },
  ): AsyncGenerator<Sample> {
    for (const [request, { promptIds, settings, seed, stopTokenIds }] of requests.entries()) {
      options?.signal?.throwIfAborted();
      if (settings.topK !== undefined || settings.topP !== undefined || settings.minP !== undefined) {
        throw unsupported("the bigram sampler knows no top-k, top-p or min-p");
      }
      const random = createRandom(seed);
      const sequence = [...promptIds];
      const ids: number[] = [];
      const logprobs: number[] = [];
      const values: number[] = [];
      let finish: Sample["finish"] = "length";
      while (ids.length < settings.maxTokens && finish === "length") {
        const row = this.#rowAfter(sequence);
        values.push(Math.fround(row?.[valueEntry] ?? 0));
        const distribution = logSoftmax(row, settings.temperature === 0 ? 1 : settings.temperature);
        const id = settings.temperature === 0 ? likeliest(distribution) : draw(distribution, random.next());
        ids.push(id);
        sequence.push(id);
        logprobs.push(distribution[id]!);
        if (stopTokenIds.includes(id)) finish = "stop";
      }
      values.push(Math.fround(this.#rowAfter(sequence)?.[valueEntry] ?? 0));
      yield { request, ids, logprobs, ...(this.#withValues ? { values } : {}), finish };
    }
  }

  #rowAfter(sequence: readonly number[]): Float64Array | undefined {
    return this.#table.get(contextOf(sequence, sequence.length - 1));
  }

  async close(): Promise<void> {}
}

/** The two tokens that the next token depends on, as one number. */
function contextOf(tokens: ArrayLike<number>, t: number): number {
  return (t > 0 ? tokens[t - 1]! + 1 : 0) * vocabularySize + tokens[t]!;
}

/** The distribution after tokens that the table does not have. */
const uniform = logSoftmax(new Float64Array(vocabularySize), 1);

function logSoftmax(logits: Float64Array | undefined, temperature: number): Float64Array {
  if (logits === undefined) return uniform;
  const result = new Float64Array(vocabularySize);
  let sum = 0;
  let top = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < vocabularySize; j++) {
    result[j] = logits[j]! / temperature;
    top = Math.max(top, result[j]!);
  }
  for (let j = 0; j < vocabularySize; j++) sum += Math.exp(result[j]! - top);
  const total = top + Math.log(sum);
  for (let j = 0; j < vocabularySize; j++) result[j]! -= total;
  return result;
}

function draw(logprobs: Float64Array, uniform: number): number {
  let below = 0;
  for (let j = 0; j < vocabularySize - 1; j++) {
    below += Math.exp(logprobs[j]!);
    if (uniform < below) return j;
  }
  return vocabularySize - 1;
}

function likeliest(logprobs: Float64Array): number {
  let best = 0;
  for (let j = 1; j < vocabularySize; j++) if (logprobs[j]! > logprobs[best]!) best = j;
  return best;
}

/** The bytes of a row: decimal numbers take several times as long. */
function encoded(row: Float64Array): string {
  // Adding 0 makes -0 a 0: they are the same weight.
  return Buffer.from(row.map((value) => value + 0).buffer).toString("base64");
}

/** Reads a row of the file that a model saves. */
export function savedRow(text: string): Float64Array {
  const row = new Float64Array(rowLength);
  const bytes = Buffer.from(text, "base64");
  bytes.copy(Buffer.from(row.buffer));
  return row;
}

function optional<Key extends string>(key: Key, value: number | undefined): { [K in Key]?: number } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]?: number });
}

function unsupported(message: string): LyceumError {
  return new LyceumError({ code: "backend.unsupported", message: `The bigram backend: ${message}.` });
}
