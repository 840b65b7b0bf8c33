import { supportWords } from "../../../../src/contract/token-support.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import type { ForwardOutput, ForwardResult, PassOptions } from "../../../backend/training-backend.ts";
import { activationSizes, attentionBlocks } from "../../../model-folders/architecture/kept-activations.ts";
import { layersWithFewWeights } from "../../../model-folders/architecture/lora-layers.ts";
import { sharedActivationBytes, splitPass } from "../../../model-folders/architecture/split-pass.ts";
import { termCoefficients, termStructure } from "../loss-graphs/bound-term.ts";
import type { GraphPlan } from "../models/graph-parameters.ts";
import { buildTrainingGraph } from "../models/training-graph.ts";
import { needsLogits } from "../models/training-heads.ts";
import { type Batch, countLossPositions, hasSupports, layOutLoss, layOutSequences, layOutSupports } from "./batch.ts";
import { dropoutFeeds } from "./dropout-masks.ts";
import type { LossScale } from "./loss-scale.ts";
import type { PositionTables } from "./position-tables.ts";
import { prefixOrder } from "./prefix-order.ts";
import { lossFeeds, sequenceFeeds } from "./sequence-feeds.ts";
import type { Feed, Feeds } from "./session.ts";
import type { CompiledGraph, SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/** The default maximum number of logits in memory at a time (64 MB). */
const defaultLogitsPerChunk = 16_777_216;

/** The arrays of logits of one chunk: the logits, their probabilities, and a product's working memory. */
const logitCopies = 3;

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
  /** The bytes that are kept for the backward pass. */
  readonly bytes: number;
  /** The number of positions with a loss. */
  readonly positions: number;
}

/** What the graph of a pass depends on besides its options. */
interface Structure {
  readonly chunks: number;
  readonly blocks: number;
  /** True if sequences share the tokens of equal prefixes. */
  readonly shares: boolean;
  readonly merged: readonly string[];
  readonly truncated: boolean;
  /** True if a run needs so much memory that only one graph of a kind is kept. */
  readonly isLarge: boolean;
}

/**
 * Runs whole sequences through a model, with or without gradients, in micro-batches of similar lengths, or of common
 * prefixes, which then pass through the model once.
 */
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
    signal?.throwIfAborted();
    const sequences = data.map(({ tokens }) => tokens);
    const { weights, trains } = options;
    const [weightBytes, adapterBytes] = [weights.base.byteLength, weights.adapter?.block.byteLength ?? 0];
    const trainedBytes = { base: weightBytes, adapter: adapterBytes, none: 0 }[trains];
    const { batches, shares } = splitPass(
      sequences.map(({ length }) => length),
      {
        sizes: activationSizes(weights.config),
        sharedBytes: sharedActivationBytes({ weightBytes, trainedBytes }),
        maxTokens: Math.min(this.#maxTokens, maxTokensPerMicroBatch),
        // With dropout, equal tokens of different sequences differ.
        prefixes: options.dropout === undefined ? prefixOrder(sequences) : undefined,
      },
    );
    const parts = batches.map(({ indices, bytes }) => {
      const chosen = indices.map((i) => data[i]!);
      const tokens = indices.map((i) => sequences[i]!);
      const batch = layOutSequences(tokens, { share: shares });
      return { indices, data: chosen, batch, bytes, positions: countLossPositions(chosen) };
    });
    const structure = this.#structureOf(options, parts, shares);
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
  #structureOf(options: SequencePass, parts: readonly Part[], shares: boolean): Structure {
    const { config } = options.weights;
    const most = (of: (part: Part) => number): number => Math.max(0, ...parts.map(of));
    const [longest, tokens] = [most(({ batch }) => batch.length), most(({ batch }) => batch.tokens)];
    const hasLogits = needsLogits(options);
    const logits = hasLogits ? most(({ positions }) => positions) * config.vocabularySize : 1;
    return {
      chunks: chunkCount(logits, this.#logitsPerChunk),
      blocks: attentionBlocks(longest, { shares }),
      shares,
      merged: this.#merged(options, tokens),
      truncated: hasLogits && hasSupports(options.data),
      isLarge: most(({ bytes }) => bytes) > largeActivations,
    };
  }

  async #runPart(options: SequencePass, part: Part, structure: Structure): Promise<Omit<RunResult, "tokens">> {
    const { weights, terms, outputs, dropout } = options;
    const { config } = weights;
    const { indices, data, batch } = part;
    const loss = layOutLoss(data, batch, structure.chunks);
    const supports = structure.truncated ? layOutSupports(data, loss, config.vocabularySize) : undefined;
    // A graph for few tokens needs little memory, so it does not replace that of the rest of the pass.
    const shares = batch.shared !== undefined;
    const isShort = batch.length < structure.blocks ** 2 || shares !== structure.shares;
    const blocks = isShort ? 1 : structure.blocks;
    const compiled = await this.#compile(
      options,
      isShort ? { ...structure, blocks, shares, isLarge: false } : structure,
    );
    const { results, gradients, overflows } = await this.#runScaled(compiled, {
      ...parameterFeeds(compiled, weights),
      ...sequenceFeeds(batch, config, blocks),
      ...this.#tables.feeds(Math.max(batch.tokens, batch.length)),
      ...lossFeeds(loss, batch),
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
      const logits = (loss.padded / structure.chunks) * config.vocabularySize;
      await this.#sessions.releaseIfGrown(compiled, part.bytes + logitCopies * 4 * logits);
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
    { merged, chunks, blocks, shares, truncated, isLarge }: Structure,
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
        shares,
        outputs: sorted,
        truncated,
        dropout: dropout?.rate,
        device: this.#sessions.settings.device,
        precision: this.#lossScale === undefined ? "float32" : "float16",
      });
    const key = `${family}${[merged, chunks, blocks, shares, truncated].join("|")}`;
    // On a processor, what the runtime rewrites in these graphs makes a LoRA step no faster (decision 28).
    const asWritten = this.#sessions.settings.device === "cpu";
    return this.#sessions.get(key, plan, { replaces: isLarge ? family : undefined, asWritten });
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
