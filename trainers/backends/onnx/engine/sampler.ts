import type { SampleOptions, SampleRequest, ScoreRequest, TokenScores } from "../../../../src/contract/sampler.ts";
import type { Tokenizer } from "../../../../src/core/tokens/tokenizer.ts";
import { Graph } from "../graph/graph.ts";
import { buildDecodeGraph, type DecodeForm } from "../models/decode-graph.ts";
import type { DecoderParts } from "../models/decoder.ts";
import { bindParameters, type GraphPlan } from "../models/graph-parameters.ts";
import { largeBase } from "../models/parameter-memory.ts";
import { buildPrefillGraph } from "../models/prefill-graph.ts";
import type { AdapterBuffer, AdapterBuffers } from "./adapter-buffer.ts";
import { layOutSequences } from "./batch.ts";
import { DecodeBatch, type DecodeResults } from "./decode-batch.ts";
import { blockTokens, type KeptPrefixes } from "./kept-prefixes.ts";
import { runLogits } from "./logits.ts";
import type { PositionTables } from "./position-tables.ts";
import { type PromptToRead, unreadTokens } from "./read-order.ts";
import { SampleCall, type SampleCallOptions } from "./sample-call.ts";
import { type DecodingModel, type PrefillResults, type SamplerSettings, SamplingLoop } from "./sampling-loop.ts";
import { scoreTokens } from "./score-tokens.ts";
import { sequenceFeeds } from "./sequence-feeds.ts";
import type { Feed, GraphSession } from "./session.ts";
import type { SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, quantizedBits, roundsInputs, structureKey } from "./weights.ts";

/** The number of rows from which products are faster with the weights on the left. */
const manyRows = 8;

/** The most tokens for which products by quantized weights take less time than float32 matrices that are made first. */
const mostPacked = { 4: Number.POSITIVE_INFINITY, 8: 64 };

/**
 * Continues prompts by batched decoding with a key-value cache. If the weights have a value head, samples also contain
 * the values of their states.
 */
export class BatchSampler implements DecodingModel {
  readonly #weights: ModelWeights;
  readonly #sessions: SessionCache;
  readonly #tables: PositionTables;
  readonly #settings: SamplerSettings;
  /** If set, the decoding graph under this key contains the base weights as constants, in a faster layout. */
  readonly #frozenBase: string | undefined;
  readonly #loadTokenizer: () => Promise<Tokenizer>;
  /** What earlier calls have read. */
  readonly #kept: KeptPrefixes;
  /** The memory where decoding lays out the adapter, and this sampler's identity in it. */
  readonly #buffer: AdapterBuffer | undefined;
  readonly #owner = Symbol("sampler");
  /** For each graph: its session key and the feeds of its weights, which never change. */
  readonly #plans = new Map<string, { readonly key: string; feeds?: Record<string, Feed> }>();
  /** The batch of shared calls. */
  readonly #shared: SamplingLoop;
  /** The numbers of prompt tokens that were read, and that were kept from before. Those of a group count once. */
  readonly promptTokens = { read: 0, reused: 0 };

  constructor(options: {
    readonly weights: ModelWeights;
    readonly sessions: SessionCache;
    readonly tables: PositionTables;
    readonly adapterBuffers: AdapterBuffers;
    readonly settings: SamplerSettings;
    readonly frozenBase: string | undefined;
    /** Only for this sampler. */
    readonly kept: KeptPrefixes;
    /** Called if a request has stop sequences. */
    readonly tokenizer: () => Promise<Tokenizer>;
  }) {
    this.#weights = options.weights;
    this.#sessions = options.sessions;
    this.#tables = options.tables;
    this.#settings = options.settings;
    this.#frozenBase = options.frozenBase;
    this.#loadTokenizer = options.tokenizer;
    this.#kept = options.kept;
    this.#buffer = options.adapterBuffers.of(options.weights);
    this.#shared = new SamplingLoop(this, options.settings, { joinable: true, kept: options.kept });
  }

  /**
   * Samples in the order in which completions finish. Looks at the signal and at `dropped` between two runs of the
   * runtime. Calls `onTokens` and `onSampled` after each run. Shared calls that run at the same time share a batch. They,
   * and calls with `reuse`, continue what such calls have read before.
   */
  async sample(
    requests: readonly SampleRequest[],
    { shared = false, reuse = false, ...options }: SampleCallOptions & Pick<SampleOptions, "shared" | "reuse">,
  ): Promise<void> {
    const needsText = requests.some(({ settings }) => (settings.stop ?? []).length > 0);
    const tokenizer = needsText ? await this.#loadTokenizer() : undefined;
    const maxLength = this.#weights.config.maxPositions;
    const call = new SampleCall(requests, { ...options, tokenizer, maxLength });
    const kept = reuse ? this.#kept : undefined;
    const loop = shared ? this.#shared : new SamplingLoop(this, this.#settings, { joinable: false, kept });
    await loop.add(call);
  }

  /** Computes the logprobs of the last ids of a sequence. Checks the signal between two runs of the runtime. */
  score(request: ScoreRequest, signal: AbortSignal): Promise<TokenScores> {
    const { ids } = request;
    const model = { weights: this.#weights, sessions: this.#sessions, tables: this.#tables, ids };
    const { vocabularySize } = this.#weights.config;
    return scoreTokens({ vocabularySize, logitsAfter: (rows) => runLogits({ ...model, rows }) }, request, signal);
  }

  createBatch(): DecodeBatch {
    const { config, base } = this.#weights;
    return new DecodeBatch(config, base.count);
  }

  async decode(batch: DecodeBatch): Promise<DecodeResults> {
    // Quantized weights are read in place on the right only.
    const isPlain = quantizedBits(this.#weights) === undefined;
    const weightsFirst = isPlain && this.#sessions.settings.device === "cpu" && batch.rows >= manyRows;
    const { session, feeds } = await this.#planDecode({ grouped: batch.grouped, weightsFirst });
    const results = await session.run({
      ...feeds,
      ...this.#buffer?.enter(this.#owner, this.#weights.adapter!.block),
      ...batch.feeds(),
      ...this.#tables.feeds(batch.lastPosition + batch.rows + 1),
    });
    return results as unknown as DecodeResults;
  }

  async prefill(prompts: readonly PromptToRead[], batch: DecodeBatch): Promise<PrefillResults> {
    const { config } = this.#weights;
    const starts = prompts.map(({ kept }) => kept.length * blockTokens);
    const lengths = prompts.map(unreadTokens);
    const sequences = layOutSequences(
      prompts.map(({ ids }, i) => ids.slice(starts[i])),
      { offsets: starts },
    );
    let last = -1;
    const rows = Int32Array.from(lengths, (length) => {
      last += length;
      return last;
    });
    const continued = starts.some((start) => start > 0);
    const { session, feeds } = await this.#planPrefill({ continued, tokens: sequences.tokens });
    const results = await session.run({
      ...feeds,
      ...sequenceFeeds(sequences, config),
      ...(continued ? batch.continuedFeeds(lengths) : {}),
      ...this.#tables.feeds(Math.max(sequences.tokens, ...prompts.map(({ ids }) => ids.length))),
      rows: { data: rows, shape: [rows.length] },
      inverseTemperature: inverseTemperatures(prompts),
    });
    this.promptTokens.read += sequences.tokens;
    this.promptTokens.reused += starts.reduce((sum, start) => sum + start, 0);
    return results as unknown as PrefillResults;
  }

  #planPrefill({ continued, tokens }: { readonly continued: boolean; readonly tokens: number }): Promise<PlannedRun> {
    // For few tokens, it takes longer to make float32 matrices than to multiply by quantized weights.
    const bits = quantizedBits(this.#weights);
    const isShort = bits !== undefined && (roundsInputs(this.#weights) || tokens <= mostPacked[bits]);
    const isPacked = isShort && this.#frozenBase !== undefined;
    const name = continued ? "continued-prefill" : "prefill";
    return this.#plan(isPacked ? `decode|${this.#frozenBase}|${name}` : name, {
      placement: isPacked ? "constant" : "input",
      build: (graph, parts) => buildPrefillGraph(graph, parts, { continued }),
    });
  }

  #planDecode(form: DecodeForm): Promise<PlannedRun> {
    // On the left of a product, weights are read in place. Constants would only add a copy.
    const frozenBase = form.weightsFirst ? undefined : this.#frozenBase;
    const name = `decode|${frozenBase ?? ""}|${form.grouped ? "grouped" : "separate"}|${form.weightsFirst}`;
    return this.#plan(name, {
      placement: frozenBase === undefined ? "input" : "constant",
      build: (graph, parts) => buildDecodeGraph(graph, parts, form),
    });
  }

  /** Returns the compiled graph and the feeds of its weights. Compiles the graph again if it was evicted. */
  async #plan(name: string, recipe: GraphRecipe): Promise<PlannedRun> {
    const weights = this.#weights;
    const plan = this.#plans.get(name) ?? { key: `${name}|${structureKey(weights)}` };
    this.#plans.set(name, plan);
    // The copy of a large base takes the place of training graphs, as they take its place: see `largeBase`.
    const isCopy = recipe.placement === "constant" && weights.base.byteLength > largeBase;
    const replaces = isCopy ? "sequences|" : undefined;
    const compiled = await this.#sessions.get(plan.key, () => planGraph(weights, recipe), { replaces });
    plan.feeds ??= parameterFeeds(compiled, weights);
    return { session: compiled.session, feeds: plan.feeds };
  }
}

/** A compiled graph and the feeds of its weights. */
interface PlannedRun {
  readonly session: GraphSession;
  readonly feeds: Readonly<Record<string, Feed>>;
}

/** How to build a graph. */
interface GraphRecipe {
  readonly placement: "input" | "constant";
  readonly build: (graph: Graph, parts: DecoderParts) => void;
}

function planGraph(weights: ModelWeights, { placement, build }: GraphRecipe): GraphPlan {
  const graph = new Graph();
  const { plan, ...parts } = bindParameters(graph, weights, placement);
  build(graph, { config: weights.config, ...parts });
  return plan;
}

function inverseTemperatures(prompts: readonly PromptToRead[]): Feed {
  const data = Float32Array.from(prompts, ({ completions }) => 1 / (completions[0]!.request.settings.temperature || 1));
  return { data, shape: [prompts.length, 1] };
}
