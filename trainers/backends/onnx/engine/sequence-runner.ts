import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import { microBatches } from "../../../data/micro-batches.ts";
import { termCoefficients, termStructure } from "../losses/token-loss.ts";
import { buildTrainingGraph } from "../models/training-graph.ts";
import {
  type Batch,
  causalMask,
  countLossPositions,
  type LossPositions,
  layOutLoss,
  layOutSequences,
} from "./batch.ts";
import type { PositionTables } from "./position-tables.ts";
import type { Feed } from "./session.ts";
import type { CompiledGraph, SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/** The most logits that live at a time by default: 128 MB of them. */
const defaultLogitsPerChunk = 33_554_432;

/** What one micro-batch gave. */
export interface RunResult {
  /** Indices of the data in the micro-batch. */
  readonly indices: readonly number[];
  /** One sum per term. */
  readonly terms: Float32Array;
  /** Per datum of `indices`, as long as its tokens, 0 where the loss mask is 0. */
  readonly logprobs: readonly Float32Array[];
  readonly entropy: readonly Float32Array[] | undefined;
  /** By parameter name. */
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

/** Runs whole sequences through a model, forward only or with gradients, in micro-batches of like lengths. */
export class SequenceRunner {
  readonly #sessions: SessionCache;
  readonly #tables: PositionTables;
  readonly #maxTokens: number;
  readonly #logitsPerChunk: number;

  constructor(options: {
    readonly sessions: SessionCache;
    readonly tables: PositionTables;
    readonly maxTokensPerMicroBatch: number;
    readonly logitsPerChunk?: number;
  }) {
    this.#sessions = options.sessions;
    this.#tables = options.tables;
    this.#maxTokens = options.maxTokensPerMicroBatch;
    this.#logitsPerChunk = options.logitsPerChunk ?? defaultLogitsPerChunk;
  }

  /** Yields after each micro-batch, so that the caller can stop between two. */
  async *run(options: {
    readonly weights: ModelWeights;
    readonly data: readonly Datum[];
    readonly terms: readonly LossTerm[];
    readonly trains: "base" | "adapter" | "nothing";
    readonly wantEntropy: boolean;
  }): AsyncGenerator<RunResult> {
    const { data, terms } = options;
    const lengths = data.map((datum) => datum.tokens.length);
    for (const indices of microBatches(lengths, this.#maxTokens)) {
      const part = indices.map((i) => data[i]!);
      if (part.every((datum) => datum.lossMask.every((weight) => weight === 0))) {
        yield emptyResult(indices, part, terms.length);
        continue;
      }
      yield await this.#runPart(options, indices, part);
    }
  }

  async #runPart(
    options: Parameters<SequenceRunner["run"]>[0],
    indices: readonly number[],
    part: readonly Datum[],
  ): Promise<RunResult> {
    const { weights, terms, trains, wantEntropy } = options;
    const { config } = weights;
    const batch = layOutSequences(part.map((datum) => datum.tokens));
    const chunks = chunkCount(countLossPositions(part) * config.vocabularySize, this.#logitsPerChunk);
    const loss = layOutLoss(part, batch.tokens, chunks);
    const blocks = attentionBlocks(batch.length);
    const compiled = await this.#compile({ weights, terms, trains, chunks, blocks, wantEntropy });
    const group = config.heads / config.keyValueHeads;
    const results = await compiled.session.run({
      ...parameterFeeds(compiled, weights),
      ...sequenceFeeds(batch, group),
      ...this.#tables.feeds(Math.max(batch.tokens, batch.length)),
      ...lossFeeds(loss, batch.tokens),
      ...coefficientFeeds(terms),
    });
    const gradients = new Map<string, Float32Array>();
    for (const [name, values] of Object.entries(results)) {
      if (name.startsWith("gradient:")) gradients.set(name.slice("gradient:".length), values);
    }
    return {
      indices,
      terms: results.terms ?? new Float32Array(0),
      logprobs: spreadOut(part, results.logprobs!),
      entropy: results.entropy === undefined ? undefined : spreadOut(part, results.entropy),
      gradients,
    };
  }

  #compile(options: {
    readonly weights: ModelWeights;
    readonly terms: readonly LossTerm[];
    readonly trains: "base" | "adapter" | "nothing";
    readonly chunks: number;
    readonly blocks: number;
    readonly wantEntropy: boolean;
  }): Promise<CompiledGraph> {
    const { weights, terms, trains, chunks, blocks, wantEntropy } = options;
    const structure = terms.map(termStructure).join("+");
    const key = `sequences|${structureKey(weights)}|${trains}|${structure}|${chunks}|${blocks}|${wantEntropy}`;
    return this.#sessions.get(key, () =>
      buildTrainingGraph({
        ...weights,
        trains,
        terms,
        chunks,
        blocks,
        wantEntropy,
        placement: "input",
        device: this.#sessions.settings.device,
      }),
    );
  }
}

/** A power of two, so that few graphs serve all batches. */
function chunkCount(logits: number, logitsPerChunk: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(logits / logitsPerChunk)));
}

/** Blocks save products, but each has a dozen operators of its own, which count where sequences are short. */
function attentionBlocks(length: number): number {
  return length < 128 ? 1 : 4;
}

/** Feeds of the sequence inputs that every graph over whole sequences declares. */
export function sequenceFeeds(batch: Batch, group: number): Record<string, Feed> {
  const { tokens, length, sequences } = batch;
  return {
    ids: { data: batch.ids, shape: [tokens] },
    positions: { data: batch.positions, shape: [1, tokens] },
    tokenAt: { data: batch.tokenAt, shape: [sequences, length] },
    placeOf: { data: batch.placeOf, shape: [tokens] },
    present: { data: batch.present, shape: [sequences, length, 1] },
    mask: { data: causalMask(length, group), shape: [length, group, length] },
  };
}

function lossFeeds(loss: LossPositions, tokens: number): Record<string, Feed> {
  const shape = [loss.padded];
  const { rows, targets, inverseTemperature, weights, advantages, behaviour, reference } = loss;
  const perPosition = { rows, targets, inverseTemperature, weights, advantages, behaviour, reference };
  return {
    ...Object.fromEntries(Object.entries(perPosition).map(([name, data]) => [name, { data, shape }])),
    returns: { data: loss.returns, shape: [tokens] },
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

/** Values of the positions with loss, put back at their places in each datum. */
function spreadOut(data: readonly Datum[], values: Float32Array): Float32Array[] {
  let next = 0;
  return data.map(({ lossMask }) => {
    const spread = new Float32Array(lossMask.length);
    for (let i = 0; i < spread.length; i++) if (lossMask[i] !== 0) spread[i] = values[next++]!;
    return spread;
  });
}

function emptyResult(indices: readonly number[], data: readonly Datum[], terms: number): RunResult {
  const zeros = data.map(({ tokens }) => new Float32Array(tokens.length));
  return { indices, terms: new Float32Array(terms), logprobs: zeros, entropy: zeros, gradients: new Map() };
}
