import { supportWords } from "../../../../src/contract/token-support.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import { microBatches } from "../../../backend/micro-batches.ts";
import type { ForwardOutput, ForwardResult, PassOptions } from "../../../backend/training-backend.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import {
  activationSizes,
  blockedLength,
  keptBytesPerToken,
  mostTokens,
} from "../../../model-folders/architecture/kept-activations.ts";
import { layersWithFewWeights } from "../../../model-folders/architecture/lora-layers.ts";
import { termCoefficients, termStructure } from "../loss-graphs/bound-term.ts";
import type { GraphPlan } from "../models/graph-parameters.ts";
import { buildTrainingGraph } from "../models/training-graph.ts";
import { needsLogits } from "../models/training-heads.ts";
import {
  type Batch,
  causalMask,
  countLossPositions,
  hasSupports,
  type LossPositions,
  layOutLoss,
  layOutSequences,
  layOutSupports,
} from "./batch.ts";
import { dropoutFeeds } from "./dropout-masks.ts";
import type { LossScale } from "./loss-scale.ts";
import type { PositionTables } from "./position-tables.ts";
import type { Feed, Feeds } from "./session.ts";
import type { CompiledGraph, SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/** The default maximum number of logits in memory at a time (64 MB). */
const defaultLogitsPerChunk = 16_777_216;

/** The arrays of logits of one chunk: the logits, their probabilities, and a product's working memory. */
const logitCopies = 3;

/** The shortest length that can be split into blocks, none of which is empty. */
const shortestBlocked = 16;

/** The activations from which a model keeps only one graph of a kind: see `SessionCache`. */
const largeActivations = 2 ** 26;

/** The result of one micro-batch. */
export interface RunResult {
  /** The indices of the micro-batch's data. */
  readonly indices: readonly number[];
  /** The number of tokens whose loss mask is not 0. */
  readonly tokens: number;
  /** The sum of each term. */
  readonly terms: Float32Array;
  /** The requested outputs of each datum of `indices`. */
  readonly outputs: readonly ForwardResult[];
  /** Gradients by parameter name. */
  readonly gradients: ReadonlyMap<string, Float32Array>;
  /** How often the gradient overflowed and the run was repeated at a smaller loss scale. */
  readonly overflows: number;
}

/** A pass of whole sequences through a model. */
interface SequencePass {
  readonly weights: ModelWeights;
  readonly data: readonly Datum[];
  readonly terms: readonly LossTerm[];
  readonly trains: "base" | "adapter" | "none";
  readonly outputs: readonly ForwardOutput[];
  /** Drops inputs of the adapters, with masks from one seed per datum. */
  readonly dropout?: { readonly rate: number; readonly seeds: readonly number[] } | undefined;
}

/** The data of one micro-batch. */
interface Part {
  readonly indices: readonly number[];
  readonly data: readonly Datum[];
  readonly batch: Batch;
  /** The number of positions with a loss. */
  readonly positions: number;
}

/** What the graph of a pass depends on besides its options. */
interface Structure {
  readonly chunks: number;
  readonly blocks: number;
  readonly merged: readonly string[];
  readonly truncated: boolean;
  /** True if a run needs so much memory that only one graph of a kind is kept. */
  readonly isLarge: boolean;
}

/** Runs whole sequences through a model, with or without gradients, in micro-batches of similar lengths. */
export class SequenceRunner {
  readonly #sessions: SessionCache;
  readonly #tables: PositionTables;
  readonly #maxTokens: number;
  readonly #logitsPerChunk: number;
  readonly #lossScale: LossScale | undefined;

  constructor(options: {
    readonly sessions: SessionCache;
    readonly tables: PositionTables;
    readonly maxTokensPerMicroBatch: number;
    readonly logitsPerChunk?: number;
    /** If present, products are computed in float16. */
    readonly lossScale?: LossScale | undefined;
  }) {
    this.#sessions = options.sessions;
    this.#tables = options.tables;
    this.#maxTokens = options.maxTokensPerMicroBatch;
    this.#logitsPerChunk = options.logitsPerChunk ?? defaultLogitsPerChunk;
    this.#lossScale = options.lossScale;
  }

  /** Yields the result of each micro-batch. Throws the signal's reason if it aborts before or between them. */
  async *run(options: SequencePass, passOptions: PassOptions = {}): AsyncGenerator<RunResult> {
    const { data } = options;
    const { signal, maxTokensPerMicroBatch = Infinity, onProgress } = passOptions;
    const lengths = data.map((datum) => datum.tokens.length);
    signal?.throwIfAborted();
    const sizes = activationSizes(options.weights.config);
    const maxTokens = Math.min(this.#maxTokens, maxTokensPerMicroBatch);
    const batches = microBatches(lengths, (longest) => mostTokens(sizes, { longest, maxTokens }));
    const parts = batches.map((indices) => {
      const chosen = indices.map((i) => data[i]!);
      const batch = layOutSequences(chosen.map((datum) => datum.tokens));
      return { indices, data: chosen, batch, positions: countLossPositions(chosen) };
    });
    const structure = this.#structureOf(options, parts);
    for (const part of parts) {
      const { indices, positions: tokens } = part;
      const result = tokens === 0 ? emptyResult(part, options) : await this.#runPart(options, part, structure);
      yield { ...result, tokens };
      onProgress?.({ sequences: indices.length, tokens });
      signal?.throwIfAborted();
    }
  }

  /**
   * Returns what the graph of a pass depends on besides its options. All micro-batches of a pass share a graph, because
   * each graph keeps the memory of its largest run.
   */
  #structureOf(options: SequencePass, parts: readonly Part[]): Structure {
    const { config } = options.weights;
    const most = (of: (part: Part) => number): number => Math.max(0, ...parts.map(of));
    const [longest, tokens] = [most(({ batch }) => batch.length), most(({ batch }) => batch.tokens)];
    const hasLogits = needsLogits(options);
    const logits = hasLogits ? most(({ positions }) => positions) * config.vocabularySize : 1;
    return {
      chunks: chunkCount(logits, this.#logitsPerChunk),
      blocks: longest < blockedLength ? 1 : 4,
      merged: this.#merged(options, tokens),
      truncated: hasLogits && hasSupports(options.data),
      isLarge: tokens * keptBytesPerToken(activationSizes(config), longest) > largeActivations,
    };
  }

  async #runPart(options: SequencePass, part: Part, structure: Structure): Promise<Omit<RunResult, "tokens">> {
    const { weights, terms, outputs, dropout } = options;
    const { config } = weights;
    const { indices, data, batch } = part;
    const loss = layOutLoss(data, batch.tokens, structure.chunks);
    const supports = structure.truncated ? layOutSupports(data, loss, config.vocabularySize) : undefined;
    // A graph for few tokens needs little memory, so it does not replace that of the rest of the pass.
    const isShort = batch.length < shortestBlocked && structure.blocks > 1;
    const compiled = await this.#compile(options, isShort ? { ...structure, blocks: 1, isLarge: false } : structure);
    const { results, gradients, overflows } = await this.#runScaled(compiled, {
      ...parameterFeeds(compiled, weights),
      ...sequenceFeeds(batch, config),
      ...this.#tables.feeds(Math.max(batch.tokens, batch.length)),
      ...lossFeeds(loss, batch.tokens),
      ...(supports === undefined
        ? {}
        : { supports: { data: supports, shape: [loss.padded, supportWords(config.vocabularySize)] } }),
      ...coefficientFeeds(terms),
      ...(dropout === undefined
        ? {}
        : dropoutFeeds({
            block: weights.adapter!.block,
            rate: dropout.rate,
            sequences: indices.map((index, i) => ({ tokens: data[i]!.tokens.length, seed: dropout.seeds[index]! })),
          })),
    });
    if (structure.isLarge && !isShort) {
      const kept = batch.tokens * keptBytesPerToken(activationSizes(config), batch.length);
      const logits = (loss.padded / structure.chunks) * config.vocabularySize;
      await this.#sessions.releaseIfGrown(compiled, kept + logitCopies * 4 * logits);
    }
    return {
      indices,
      terms: results.terms ?? new Float32Array(0),
      outputs: spreadOut(data, outputs, results),
      gradients,
      overflows,
    };
  }

  /**
   * Returns the layers whose adapters are added to their weights, because that needs less time and memory than adding
   * outputs.
   */
  #merged({ weights, trains, dropout }: SequencePass, tokens: number): string[] {
    // With dropout, weights and adapters read different inputs.
    if (dropout !== undefined) return [];
    // In float16 the sum would lose an adapter's small values next to much greater weights.
    const isFaster = trains === "adapter" && this.#sessions.settings.device === "cpu" && this.#lossScale === undefined;
    return isFaster ? layersWithFewWeights(weights.config, tokens) : [];
  }

  /** Runs a graph until its gradient does not overflow. Divides the gradients by the loss scale. */
  async #runScaled(
    { session }: CompiledGraph,
    feeds: Feeds,
  ): Promise<{
    readonly results: Record<string, Float32Array>;
    readonly gradients: Map<string, Float32Array>;
    readonly overflows: number;
  }> {
    const lossScale = this.#lossScale;
    for (let overflows = 0; ; overflows++) {
      const scale = lossScale?.state.scale ?? 1;
      const results = await session.run({ ...feeds, lossScale: { data: Float32Array.of(scale), shape: [] } });
      const gradients = gradientsOf(results);
      if (lossScale === undefined || gradients.size === 0) return { results, gradients, overflows };
      // If the loss itself is not finite, a smaller scale does not help.
      if (!isAllFinite(results.terms!)) return { results, gradients, overflows };
      if ([...gradients.values()].every(isAllFinite)) {
        for (const values of gradients.values()) divide(values, scale);
        lossScale.grow();
        return { results, gradients, overflows };
      }
      lossScale.shrink();
    }
  }

  #compile(
    { weights, terms, trains, outputs, dropout }: SequencePass,
    { merged, chunks, blocks, truncated, isLarge }: Structure,
  ): Promise<CompiledGraph> {
    const sorted = outputs.toSorted();
    const kind = [structureKey(weights), trains, terms.map(termStructure).join("+"), sorted, dropout?.rate].join("|");
    const family = `sequences|${kind}|`;
    const plan = (): GraphPlan =>
      buildTrainingGraph({
        ...weights,
        trains,
        merged,
        terms,
        chunks,
        blocks,
        outputs: sorted,
        truncated,
        dropout: dropout?.rate,
        device: this.#sessions.settings.device,
        precision: this.#lossScale === undefined ? "float32" : "float16",
      });
    const key = `${family}${[merged, chunks, blocks, truncated].join("|")}`;
    return this.#sessions.get(key, plan, { replaces: isLarge ? family : undefined });
  }
}

function gradientsOf(results: Readonly<Record<string, Float32Array>>): Map<string, Float32Array> {
  const gradients = new Map<string, Float32Array>();
  for (const [name, values] of Object.entries(results)) {
    if (name.startsWith("gradient:")) gradients.set(name.slice("gradient:".length), values);
  }
  return gradients;
}

function isAllFinite(values: Float32Array): boolean {
  return values.every(Number.isFinite);
}

function divide(values: Float32Array, by: number): void {
  for (let i = 0; i < values.length; i++) values[i] = values[i]! / by;
}

/** Returns a power of four, so that few graphs serve all batches. */
function chunkCount(logits: number, logitsPerChunk: number): number {
  return 4 ** Math.max(0, Math.ceil(Math.log2(logits / logitsPerChunk) / 2));
}

/** Returns the feeds of the sequence inputs that every graph over whole sequences declares. */
export function sequenceFeeds(
  batch: Batch,
  { heads, keyValueHeads, window }: Pick<DecoderConfig, "heads" | "keyValueHeads" | "window">,
): Record<string, Feed> {
  const { tokens, length, sequences } = batch;
  const group = heads / keyValueHeads;
  const mask = (size?: number): Feed => ({ data: causalMask(length, group, size), shape: [length, group, length] });
  return {
    ids: { data: batch.ids, shape: [tokens] },
    positions: { data: batch.positions, shape: [1, tokens] },
    tokenAt: { data: batch.tokenAt, shape: [sequences, length] },
    placeOf: { data: batch.placeOf, shape: [tokens] },
    present: { data: batch.present, shape: [sequences, length, 1] },
    mask: mask(),
    ...(window === undefined ? {} : { windowMask: mask(window.size) }),
  };
}

function lossFeeds(loss: LossPositions, tokens: number): Record<string, Feed> {
  const { count: _, padded, positionOf, ...perPosition } = loss;
  return {
    ...Object.fromEntries(Object.entries(perPosition).map(([name, data]) => [name, { data, shape: [padded] }])),
    positionOf: { data: positionOf, shape: [tokens] },
  };
}

function coefficientFeeds(terms: readonly LossTerm[]): Record<string, Feed> {
  return Object.fromEntries(
    terms.flatMap((term, i) =>
      Object.entries(termCoefficients(term)).map(([name, value]) => [
        `term${i}.${name}`,
        { data: Float32Array.of(value), shape: [] },
      ]),
    ),
  );
}

/** Spreads the values of positions with loss over the positions of each datum. Other positions are 0. */
function spreadOut(
  data: readonly Datum[],
  outputs: readonly ForwardOutput[],
  results: Readonly<Record<string, Float32Array>>,
): ForwardResult[] {
  let next = 0;
  return data.map(({ lossMask }) => {
    const places = [...lossMask.keys()].filter((i) => lossMask[i] !== 0);
    const first = next;
    next += places.length;
    const spread = (values: Float32Array): Float32Array => {
      const whole = new Float32Array(lossMask.length);
      for (const [i, place] of places.entries()) whole[place] = values[first + i]!;
      return whole;
    };
    return Object.fromEntries(outputs.map((name) => [name, spread(results[name]!)]));
  });
}

function emptyResult(
  { indices, data }: Part,
  { terms, outputs }: { readonly terms: readonly LossTerm[]; readonly outputs: readonly ForwardOutput[] },
): Omit<RunResult, "tokens"> {
  const zeros = data.map(({ tokens }) =>
    Object.fromEntries(outputs.map((name) => [name, new Float32Array(tokens.length)])),
  );
  return { indices, terms: new Float32Array(terms.length), outputs: zeros, gradients: new Map(), overflows: 0 };
}
