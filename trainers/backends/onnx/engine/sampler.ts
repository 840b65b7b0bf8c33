import type {
  Sample,
  SampledToken,
  SampleOptions,
  SampleRequest,
  ScoreRequest,
  TokenScores,
} from "../../../../src/contract/sampler.ts";
import { Completion } from "../../../../src/core/policy/completion.ts";
import type { Tokenizer } from "../../../../src/core/tokens/tokenizer.ts";
import { Graph } from "../graph/graph.ts";
import { buildDecodeGraph, type DecodeForm } from "../models/decode-graph.ts";
import type { DecoderParts } from "../models/decoder.ts";
import { bindParameters, type GraphPlan } from "../models/graph-parameters.ts";
import { buildPrefillGraph } from "../models/prefill-graph.ts";
import type { AdapterBuffer, AdapterBuffers } from "./adapter-buffer.ts";
import { layOutSequences } from "./batch.ts";
import { DecodeBatch, type DecodeResults, type ReadPrompt } from "./decode-batch.ts";
import { runLogits } from "./logits.ts";
import type { PositionTables } from "./position-tables.ts";
import { scoreTokens } from "./score-tokens.ts";
import { sequenceFeeds } from "./sequence-runner.ts";
import type { Feed, GraphSession } from "./session.ts";
import type { SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/** The memory limits of the sampler. */
export interface SamplerSettings {
  /** The maximum number of sequences that are decoded at a time. */
  readonly batchSize: number;
  /** The maximum number of prompt tokens in one prefill. */
  readonly maxTokensPerPrefill: number;
}

/** The number of rows from which products are faster with the weights on the left. */
const manyRows = 8;

/**
 * Continues prompts by batched decoding with a key-value cache. Waiting requests take the place of finished rows. If
 * the weights have a value head, samples also contain the values of their states.
 */
export class BatchSampler {
  readonly #weights: ModelWeights;
  readonly #sessions: SessionCache;
  readonly #tables: PositionTables;
  readonly #settings: SamplerSettings;
  /** If set, the decoding graph under this key contains the base weights as constants, in a faster layout. */
  readonly #frozenBase: string | undefined;
  readonly #loadTokenizer: () => Promise<Tokenizer>;
  /** The memory where decoding lays out the adapter, and this sampler's identity in it. */
  readonly #buffer: AdapterBuffer | undefined;
  readonly #owner = Symbol("sampler");
  /** For each graph: its session key and the feeds of its weights, which never change. */
  readonly #plans = new Map<string, { readonly key: string; feeds?: Record<string, Feed> }>();

  constructor(options: {
    readonly weights: ModelWeights;
    readonly sessions: SessionCache;
    readonly tables: PositionTables;
    readonly adapterBuffers: AdapterBuffers;
    readonly settings: SamplerSettings;
    readonly frozenBase: string | undefined;
    /** Called if a request has stop sequences. */
    readonly tokenizer: () => Promise<Tokenizer>;
  }) {
    this.#weights = options.weights;
    this.#sessions = options.sessions;
    this.#tables = options.tables;
    this.#settings = options.settings;
    this.#frozenBase = options.frozenBase;
    this.#loadTokenizer = options.tokenizer;
    this.#buffer = options.adapterBuffers.of(options.weights);
  }

  /**
   * Yields samples in the order in which they finish. Checks the signal between two runs of the runtime. Calls
   * `onTokens` after each decoding step with the total number of tokens, and `onSampled` with its tokens. Before each
   * step, drops the requests whose index has been added to `dropped`.
   */
  async *sample(
    requests: readonly SampleRequest[],
    signal: AbortSignal,
    options: Pick<SampleOptions, "onTokens" | "onSampled"> & {
      readonly dropped?: ReadonlySet<number> | undefined;
    } = {},
  ): AsyncGenerator<Sample> {
    const { onTokens, onSampled, dropped = new Set() } = options;
    let tokens = 0;
    let droppedBefore = 0;
    const sampled: SampledToken[] = [];
    const onToken = onSampled === undefined ? undefined : (token: SampledToken) => void sampled.push(token);
    const report = (): void => {
      if (sampled.length > 0) onSampled!(sampled.splice(0));
    };
    const needsText = requests.some(({ settings }) => (settings.stop ?? []).length > 0);
    const tokenizer = needsText ? await this.#loadTokenizer() : undefined;
    const maxLength = this.#weights.config.maxPositions;
    let waiting = requests.map((request, index) => new Completion({ request, index, tokenizer, maxLength, onToken }));
    waiting.reverse();
    const slots = Math.min(this.#settings.batchSize, requests.length);
    const { config, base } = this.#weights;
    const batch = new DecodeBatch(config, base.data.length);
    while (waiting.length > 0 || batch.size > 0) {
      signal.throwIfAborted();
      if (dropped.size > droppedBefore) {
        droppedBefore = dropped.size;
        const isKept = ({ index }: Completion): boolean => !dropped.has(index);
        waiting = waiting.filter(isKept);
        batch.keep(isKept);
      }
      // Admit in bulk: one prefill for many prompts costs less than many small ones between decoding steps.
      const free = slots - batch.size;
      if (waiting.length > 0 && (batch.size === 0 || free >= Math.min(waiting.length, Math.ceil(slots / 4)))) {
        for await (const sample of this.#admit(waiting.splice(-free).reverse(), batch, signal)) {
          report();
          yield sample;
        }
        report();
        signal.throwIfAborted();
      }
      if (batch.size === 0) continue;
      tokens += batch.size;
      const finished = await this.#decodeStep(batch);
      report();
      yield* finished;
      onTokens?.(tokens);
    }
  }

  /** Computes the logprobs of the last ids of a sequence. Checks the signal between two runs of the runtime. */
  score(request: ScoreRequest, signal: AbortSignal): Promise<TokenScores> {
    const { ids } = request;
    const model = { weights: this.#weights, sessions: this.#sessions, tables: this.#tables, ids };
    const { vocabularySize } = this.#weights.config;
    return scoreTokens({ vocabularySize, logitsAfter: (rows) => runLogits({ ...model, rows }) }, request, signal);
  }

  /** Prefills the prompts of new rows, each distinct prompt once, and samples their first tokens. */
  async *#admit(admitted: readonly Completion[], batch: DecodeBatch, signal: AbortSignal): AsyncGenerator<Sample> {
    const byPrompt = Map.groupBy(
      admitted,
      ({ request }) => `${request.settings.temperature}:${request.promptIds.join()}`,
    );
    const { vocabularySize } = this.#weights.config;
    let groups = [...byPrompt.values()];
    while (groups.length > 0) {
      signal.throwIfAborted();
      const count = prefillCount(groups, this.#settings.maxTokensPerPrefill);
      const read = groups.slice(0, count);
      groups = groups.slice(count);
      const { probabilities, keys, values, stateValues } = await this.#prefill(read.map((group) => group[0]!));
      const prompts: ReadPrompt[] = [];
      let first = 0;
      for (const [i, group] of read.entries()) {
        const next = probabilities!.subarray(i * vocabularySize, (i + 1) * vocabularySize);
        const completions: Completion[] = [];
        for (const completion of group) {
          const finished = completion.advance(next, stateValues?.[i]);
          if (finished === undefined) completions.push(completion);
          else yield finished;
        }
        const { length } = group[0]!.request.promptIds;
        if (completions.length > 0) prompts.push({ length, completions, keys: keys!, values: values!, first });
        first += length;
      }
      if (prompts.length > 0) batch.admit(prompts);
    }
  }

  /** Decodes one token for every row of the batch. Returns the finished samples. */
  async #decodeStep(batch: DecodeBatch): Promise<Sample[]> {
    const weightsFirst = this.#sessions.settings.device === "cpu" && batch.rows >= manyRows;
    const { session, feeds } = await this.#planDecode({ grouped: batch.grouped, weightsFirst });
    const results = await session.run({
      ...feeds,
      ...this.#buffer?.enter(this.#owner, this.#weights.adapter!.block),
      ...batch.feeds(),
      ...this.#tables.feeds(batch.lastPosition + batch.rows + 1),
    });
    return batch.advance(results as unknown as DecodeResults);
  }

  async #prefill(completions: readonly Completion[]): Promise<Record<string, Float32Array>> {
    const { config } = this.#weights;
    const batch = layOutSequences(completions.map(({ request }) => request.promptIds));
    let last = -1;
    const rows = Int32Array.from(completions, ({ request }) => {
      last += request.promptIds.length;
      return last;
    });
    const { session, feeds } = await this.#planPrefill();
    return session.run({
      ...feeds,
      ...sequenceFeeds(batch, config),
      ...this.#tables.feeds(Math.max(batch.tokens, batch.length)),
      rows: { data: rows, shape: [rows.length] },
      inverseTemperature: inverseTemperatures(completions),
    });
  }

  #planPrefill(): Promise<PlannedRun> {
    return this.#plan("prefill", { placement: "input", build: buildPrefillGraph });
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
    const compiled = await this.#sessions.get(plan.key, () => planGraph(weights, recipe));
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

/** Returns how many of the first prompts fit in one prefill, at least one. */
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
