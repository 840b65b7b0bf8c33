import type { Sample, SampleRequest } from "../../../../src/policy/sampler.ts";
import type { Tokenizer } from "../../../../src/tokens/tokenizer.ts";
import { Graph } from "../graph/graph.ts";
import { buildDecodeGraph } from "../models/decode-graph.ts";
import type { DecoderParts } from "../models/decoder.ts";
import { fuseAdapter } from "../models/fused-adapter.ts";
import { GraphParameters } from "../models/graph-parameters.ts";
import { buildPrefillGraph } from "../models/prefill-graph.ts";
import { layOutSequences } from "./batch.ts";
import { Completion } from "./completion.ts";
import { KeyValueCache } from "./key-value-cache.ts";
import type { PositionTables } from "./position-tables.ts";
import { sequenceFeeds } from "./sequence-runner.ts";
import type { Feed, GraphSession } from "./session.ts";
import type { GraphPlan, SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/** How the sampler uses memory. */
export interface SamplerSettings {
  /** The most sequences decoded at a time. */
  readonly batchSize: number;
  /** The most prompt tokens read at a time. */
  readonly maxTokensPerPrefill: number;
}

/** Continues prompts by batched decoding over a key-value cache; finished rows make room for waiting requests. */
export class BatchSampler {
  readonly #weights: ModelWeights;
  readonly #sessions: SessionCache;
  readonly #tables: PositionTables;
  readonly #settings: SamplerSettings;
  /** Under this key the decoding graph holds the base weights as constants, laid out for speed. */
  readonly #frozenBase: string | undefined;
  readonly #loadTokenizer: () => Promise<Tokenizer>;
  /** The weights as the decoding graph reads them. */
  readonly #decoding: ModelWeights;
  readonly #keys: { prefill?: string; decode?: string } = {};
  readonly #feeds: { prefill?: Record<string, Feed>; decode?: Record<string, Feed> } = {};

  constructor(options: {
    readonly weights: ModelWeights;
    readonly sessions: SessionCache;
    readonly tables: PositionTables;
    readonly settings: SamplerSettings;
    readonly frozenBase: string | undefined;
    /** Called where a request has stop strings. */
    readonly tokenizer: () => Promise<Tokenizer>;
  }) {
    this.#weights = options.weights;
    this.#sessions = options.sessions;
    this.#tables = options.tables;
    this.#settings = options.settings;
    this.#frozenBase = options.frozenBase;
    this.#loadTokenizer = options.tokenizer;
    const { config, base, adapter } = options.weights;
    this.#decoding =
      adapter === undefined
        ? options.weights
        : { config, base, adapter: { block: fuseAdapter(config, adapter.block), scale: adapter.scale } };
  }

  /** Samples in the order they finish. The signal is looked at between two runs of the runtime. */
  async *sample(requests: readonly SampleRequest[], signal: AbortSignal): AsyncGenerator<Sample> {
    const needsText = requests.some(({ settings }) => (settings.stop ?? []).length > 0);
    const tokenizer = needsText ? await this.#loadTokenizer() : undefined;
    const maxLength = this.#weights.config.maxPositions;
    const waiting = requests.map((request, index) => new Completion({ request, index, tokenizer, maxLength }));
    waiting.reverse();
    const slots = Math.min(this.#settings.batchSize, requests.length);
    const cache = new KeyValueCache(this.#weights.config, slots);
    let active: Completion[] = [];
    while (waiting.length > 0 || active.length > 0) {
      signal.throwIfAborted();
      // Admit in bulk: one prefill for many prompts costs less than many small ones between decoding steps.
      const free = slots - active.length;
      if (waiting.length > 0 && (active.length === 0 || free >= Math.min(waiting.length, Math.ceil(slots / 4)))) {
        const admitted = waiting.splice(-free).reverse();
        yield* this.#admit({ admitted, active, cache, signal });
        signal.throwIfAborted();
      }
      if (active.length === 0) continue;
      active = yield* this.#decodeStep(active, cache);
    }
  }

  /** Reads the prompts of new rows, each distinct prompt once, and samples their first tokens. */
  async *#admit(options: {
    readonly admitted: readonly Completion[];
    readonly active: Completion[];
    readonly cache: KeyValueCache;
    readonly signal: AbortSignal;
  }): AsyncGenerator<Sample> {
    const { admitted, active, cache, signal } = options;
    const byPrompt = Map.groupBy(
      admitted,
      ({ request }) => `${request.settings.temperature}:${request.promptIds.join()}`,
    );
    let groups = [...byPrompt.values()];
    while (groups.length > 0) {
      signal.throwIfAborted();
      const count = prefillCount(groups, this.#settings.maxTokensPerPrefill);
      const batch = groups.slice(0, count);
      groups = groups.slice(count);
      const prompts = batch.map((group) => group[0]!.request.promptIds);
      const results = await this.#prefill(batch.map((group) => group[0]!));
      const vocabulary = this.#weights.config.vocabularySize;
      let first = 0;
      for (const [i, group] of batch.entries()) {
        const probabilities = results.probabilities!.subarray(i * vocabulary, (i + 1) * vocabulary);
        const length = prompts[i]!.length;
        let source: number | undefined;
        for (const completion of group) {
          const finished = completion.advance(probabilities);
          if (finished !== undefined) {
            yield finished;
            continue;
          }
          const slot = active.push(completion) - 1;
          cache.clear(slot);
          if (source === undefined) {
            cache.reserve(Math.max(length, ...cache.lengths.subarray(0, active.length)) + 1);
            const { keys, values } = results as { keys: Float32Array; values: Float32Array };
            cache.append({ slot, keys, values, first, count: length });
            source = slot;
          } else {
            cache.copySlot(source, slot);
          }
        }
        first += length;
      }
    }
  }

  /** One token more for every active row; returns the rows that go on, moved to the front. */
  async *#decodeStep(active: Completion[], cache: KeyValueCache): AsyncGenerator<Sample, Completion[]> {
    const rows = active.length;
    const { config } = this.#weights;
    cache.reserve(Math.max(...cache.lengths.subarray(0, rows)) + 1);
    const { session, feeds } = await this.#plan("decode");
    const results = await session.run({
      ...feeds,
      ...this.#tables.feeds(Math.max(...cache.lengths.subarray(0, rows)) + rows + 1),
      ...cache.feeds(rows),
      ids: { data: Int32Array.from(active, (completion) => completion.lastId), shape: [rows] },
      positions: { data: BigInt64Array.from(cache.lengths.subarray(0, rows), BigInt), shape: [rows, 1] },
      parts: { data: BigInt64Array.of(1n, BigInt(cache.capacity)), shape: [2] },
      inverseTemperature: inverseTemperatures(active),
    });
    const { keys, values, probabilities } = results as Record<"keys" | "values" | "probabilities", Float32Array>;
    const finished = active.map((completion, row) => {
      const vocabulary = config.vocabularySize;
      cache.append({ slot: row, keys, values, first: row, count: 1 });
      return completion.advance(probabilities.subarray(row * vocabulary, (row + 1) * vocabulary));
    });
    for (const sample of finished) if (sample !== undefined) yield sample;
    return closeGaps(active, finished, cache);
  }

  async #prefill(completions: readonly Completion[]): Promise<Record<string, Float32Array>> {
    const { config } = this.#weights;
    const batch = layOutSequences(completions.map(({ request }) => request.promptIds));
    let last = -1;
    const rows = Int32Array.from(completions, ({ request }) => {
      last += request.promptIds.length;
      return last;
    });
    const { session, feeds } = await this.#plan("prefill");
    return session.run({
      ...feeds,
      ...sequenceFeeds(batch, config.heads / config.keyValueHeads),
      ...this.#tables.feeds(Math.max(batch.tokens, batch.length)),
      rows: { data: rows, shape: [rows.length] },
      inverseTemperature: inverseTemperatures(completions),
    });
  }

  /** The compiled graph, made anew where it has been dropped, and the feeds of its weights, which never change. */
  async #plan(kind: "prefill" | "decode"): Promise<PlannedRun> {
    const decodes = kind === "decode";
    const weights = decodes ? this.#decoding : this.#weights;
    const frozenBase = decodes ? this.#frozenBase : undefined;
    this.#keys[kind] ??= `${kind}|${frozenBase ?? ""}|${structureKey(weights)}`;
    const placement = frozenBase === undefined ? "input" : "constant";
    const build = decodes ? buildDecodeGraph : buildPrefillGraph;
    const compiled = await this.#sessions.get(this.#keys[kind], () => planGraph(weights, placement, build));
    this.#feeds[kind] ??= parameterFeeds(compiled, weights);
    return { session: compiled.session, feeds: this.#feeds[kind] };
  }
}

/** A compiled graph and the feeds of its weights. */
interface PlannedRun {
  readonly session: GraphSession;
  readonly feeds: Readonly<Record<string, Feed>>;
}

function planGraph(
  weights: ModelWeights,
  placement: "input" | "constant",
  build: (graph: Graph, parts: DecoderParts) => void,
): GraphPlan {
  const graph = new Graph();
  const parameters = new GraphParameters({ graph, block: weights.base, placement });
  const adapter =
    weights.adapter === undefined
      ? undefined
      : {
          parameters: new GraphParameters({ graph, block: weights.adapter.block, placement: "input" }),
          scale: weights.adapter.scale,
        };
  build(graph, { config: weights.config, parameters, ...(adapter === undefined ? {} : { adapter }) });
  return { graph, baseParameters: parameters.bound, adapterParameters: adapter?.parameters.bound ?? [] };
}

/** How many of the first prompts fit in one prefill; at least one. */
function prefillCount(groups: readonly (readonly Completion[])[], maxTokens: number): number {
  let longest = 0;
  let count = 0;
  for (const [first] of groups) {
    longest = Math.max(longest, first!.request.promptIds.length);
    if (count > 0 && longest * (count + 1) > maxTokens) break;
    count++;
  }
  return count;
}

function inverseTemperatures(completions: readonly Completion[]): Feed {
  const data = Float32Array.from(completions, ({ request }) => 1 / (request.settings.temperature || 1));
  return { data, shape: [completions.length, 1] };
}

/** Moves rows from the end into the places of finished ones, in the batch and in the cache. */
function closeGaps(
  active: readonly Completion[],
  finished: readonly (Sample | undefined)[],
  cache: KeyValueCache,
): Completion[] {
  const rows = [...active];
  const done = [...finished];
  for (let row = 0; row < rows.length; row++) {
    while (rows.length > row && done[rows.length - 1] !== undefined) {
      rows.pop();
      done.pop();
    }
    if (row >= rows.length || done[row] === undefined) continue;
    cache.copySlot(rows.length - 1, row);
    rows[row] = rows.pop()!;
    done[row] = done.pop();
  }
  for (let row = rows.length; row < active.length; row++) cache.clear(row);
  return rows;
}
