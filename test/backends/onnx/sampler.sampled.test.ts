import { describe, expect, it } from "vitest";
import type { Sample, SampleRequest, SamplingSettings } from "../../../src/contract/sampler.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { TrainableSpec } from "../../../trainers/backend/training-backend.ts";
import { AdapterBuffers } from "../../../trainers/backends/onnx/engine/adapter-buffer.ts";
import { createEngine } from "../../../trainers/backends/onnx/engine/engine.ts";
import type { CallContext, EngineCalls } from "../../../trainers/backends/onnx/engine/engine-calls.ts";
import { KeptMemory } from "../../../trainers/backends/onnx/engine/kept-memory.ts";
import { PositionTables } from "../../../trainers/backends/onnx/engine/position-tables.ts";
import { BatchSampler } from "../../../trainers/backends/onnx/engine/sampler.ts";
import { SessionCache } from "../../../trainers/backends/onnx/engine/session-cache.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { sampleOf } from "../../tier.ts";
import { decoderConfigs } from "./decoder-configs.ts";

const maxLength = 200;
const vocabulary = 29;
const lora: TrainableSpec = { type: "lora", lora: { rank: 3, alpha: 6, seed: 1 } };
const tied = { ...decoderConfigs["llama, tied, grouped queries"], max_position_embeddings: maxLength };

/**
 * Opens an engine on this thread with one model whose weights differ from their initial values, and a sampler of it.
 */
async function openSampler(options: {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly trainable?: TrainableSpec;
  readonly batchSize?: number;
  readonly maxTokensPerPrefill?: number;
  readonly valueHead?: boolean;
}): Promise<{ engine: EngineCalls; model: number; sampler: number }> {
  const { config = tied, trainable = { type: "full" }, batchSize = 8, maxTokensPerPrefill = 500 } = options;
  const engine = createEngine({
    device: "cpu",
    threads: 1,
    maxTokensPerMicroBatch: maxTokensPerPrefill,
    decodeBatchSize: batchSize,
  });
  const { valueHead = false } = options;
  const { model } = await engine.open({ source: { type: "scratch", config, seed: 1 }, trainable, valueHead });
  if (trainable.type !== "frozen") await takeStep(engine, model, { stepId: 1, valueHead });
  const { sampler } = await engine.snapshot({ model });
  return { engine, model, sampler };
}

/** A step large enough to change what a model samples. */
async function takeStep(
  engine: EngineCalls,
  model: number,
  { stepId, valueHead = false }: { readonly stepId: number; readonly valueHead?: boolean },
): Promise<void> {
  const ids = Array.from({ length: 12 }, (_, i) => (7 * i) % vocabulary);
  const data = [datumFromIds({ ids, mask: ids.map(() => 1) })];
  await engine.forwardBackward({ model, data, terms: [{ type: "crossEntropy" }] }, context());
  if (valueHead) {
    const learned = data.map((datum) => ({ ...datum, returns: datum.lossMask.map((_, t) => Math.sin(t)) }));
    await engine.forwardBackward({ model, data: learned, terms: [{ type: "value" }] }, context());
  }
  const params = { learningRate: 0.05, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
  await engine.optimStep({ model, params, stepId });
}

function context(emit: CallContext["emit"] = () => undefined, signal = new AbortController().signal): CallContext {
  return { signal, emit };
}

/** Samples in the order of the requests. */
async function sampleAll(engine: EngineCalls, sampler: number, requests: readonly SampleRequest[]): Promise<Sample[]> {
  const samples: Sample[] = [];
  await engine.sample(
    { sampler, requests },
    // Numbers are token counts, which long calls emit.
    context((item) => typeof item !== "number" && samples.push(item as Sample)),
  );
  expect(samples.map(({ request }) => request).toSorted((a, b) => a - b)).toEqual([...requests.keys()]);
  return samples.toSorted((a, b) => a.request - b.request);
}

/** Requests with different prompts, lengths and temperatures, a third of them greedy. */
function mixedRequests(count: number, options: { longestPrompt: number; longest: number }): SampleRequest[] {
  return Array.from({ length: count }, (_, i) => {
    const random = createRandom(i);
    const length = random.integer(1, options.longestPrompt);
    return {
      promptIds: Array.from({ length }, () => random.integer(0, vocabulary - 1)),
      settings: { temperature: [1, 0, 0.7][i % 3]!, maxTokens: random.integer(1, options.longest) },
      seed: i,
      stopTokenIds: i % 5 === 0 ? [3] : [],
    };
  });
}

/** The log-probabilities of all next tokens after each of `ids`, with logits divided by the temperature. */
async function logSoftmaxRows(
  engine: EngineCalls,
  model: number,
  options: { readonly ids: readonly number[]; readonly temperature: number },
): Promise<number[][]> {
  const logits = await engine.readLogits({ model, ids: options.ids });
  return options.ids.map((_, token) => {
    const row = [...logits.subarray(token * vocabulary, (token + 1) * vocabulary)].map((x) => x / options.temperature);
    const peak = Math.max(...row);
    const sum = row.reduce((total, logit) => total + Math.exp(logit - peak), 0);
    return row.map((logit) => logit - peak - Math.log(sum));
  });
}

/**
 * Expects that every token of a sample, and its log-probability, equals the result of a pass over the whole sequence
 * without a cache.
 */
async function expectAsWithoutCache(
  engine: EngineCalls,
  model: number,
  { request, sample }: { readonly request: SampleRequest; readonly sample: Sample },
): Promise<void> {
  const { promptIds, settings } = request;
  const ids = [...promptIds, ...sample.ids];
  const temperature = settings.temperature || 1;
  const rows = await logSoftmaxRows(engine, model, { ids, temperature });
  for (const [i, id] of sample.ids.entries()) {
    const row = rows[promptIds.length - 1 + i]!;
    expect(Math.abs(sample.logprobs[i]! - row[id]!), `token ${i}`).toBeLessThan(1e-4);
    if (settings.temperature !== 0) continue;
    // Greedy: no other token is more likely beyond rounding.
    expect(Math.max(...row) - row[id]!).toBeLessThan(1e-4);
  }
}

describe("sampling with a cache", () => {
  const kinds: Record<string, TrainableSpec> = { full: { type: "full" }, LoRA: lora, frozen: { type: "frozen" } };

  it.each(
    sampleOf(Object.entries(decoderConfigs), 5),
  )("gives the results of a pass without one: %s", async (_, config) => {
    // Few rows and many rows use different graphs.
    for (const [trainable, batchSize] of Object.values(kinds).flatMap((kind) => [
      [kind, 4] as const,
      [kind, 10] as const,
    ])) {
      const { engine, model, sampler } = await openSampler({
        config: { ...config, max_position_embeddings: maxLength },
        trainable,
        batchSize,
      });
      const requests = mixedRequests(11, { longestPrompt: 40, longest: 40 });
      const samples = await sampleAll(engine, sampler, requests);
      for (const [i, sample] of samples.entries()) {
        await expectAsWithoutCache(engine, model, { request: requests[i]!, sample });
      }
    }
  });

  it("gives the same results while the cache grows to the end of the context and shrinks again", async () => {
    const { engine, model, sampler } = await openSampler({ batchSize: 3 });
    // Rows of 1 to 199 tokens together, then short ones in the memory of the long ones.
    const lengths = [199, 3, 33, 64, 65, 97, 1, 150, 2, 5, 31, 32];
    const requests = lengths.map(
      (maxTokens, i): SampleRequest => ({
        promptIds: [i, 2, 3].slice(0, 1 + (i % 3)),
        settings: { temperature: i % 2, maxTokens },
        seed: i,
        stopTokenIds: [],
      }),
    );
    const samples = await sampleAll(engine, sampler, requests);
    for (const [i, sample] of samples.entries()) {
      const { promptIds, settings } = requests[i]!;
      expect(sample.finish).toBe("length");
      expect(sample.ids).toHaveLength(Math.min(settings.maxTokens, maxLength - promptIds.length));
      await expectAsWithoutCache(engine, model, { request: requests[i]!, sample });
    }
  });

  it.each(
    sampleOf(Object.entries(decoderConfigs), 5),
  )("gives the same results if rows share prompts: %s", async (_, config) => {
    const random = createRandom(5);
    for (const [batchSize, groups] of [
      [16, [8, 8]],
      [12, [1, 9, 2, 5, 1, 1]],
      [5, [7, 3, 4]],
    ] as const) {
      const { engine, model, sampler } = await openSampler({
        config: { ...config, max_position_embeddings: maxLength },
        batchSize,
        maxTokensPerPrefill: 90,
      });
      const requests = groups.flatMap((rows, group) => {
        const length = random.integer(1, 60);
        const promptIds = Array.from({ length }, () => random.integer(0, vocabulary - 1));
        // Rows of a group end at different times, so that groups shrink, are split again, and make room for others.
        return Array.from({ length: rows }, (_, row) => ({
          promptIds,
          settings: { temperature: [1, 0][group % 2]!, maxTokens: random.integer(1, row % 3 === 0 ? 90 : 12) },
          seed: 100 * group + row,
          stopTokenIds: [],
        }));
      });
      const samples = await sampleAll(engine, sampler, requests);
      for (const [i, sample] of samples.entries()) {
        expect(sample.ids).toHaveLength(requests[i]!.settings.maxTokens);
        await expectAsWithoutCache(engine, model, { request: requests[i]!, sample });
      }
    }
  });

  it("fills the context to its last token, and no further", async () => {
    const { engine, model, sampler } = await openSampler({});
    for (const length of [maxLength - 1, maxLength - 2, maxLength - 40]) {
      const request: SampleRequest = {
        promptIds: Array.from({ length }, (_, i) => i % vocabulary),
        settings: { temperature: 0, maxTokens: 1000 },
        seed: 0,
        stopTokenIds: [],
      };
      const [sample] = await sampleAll(engine, sampler, [request]);
      expect(sample).toMatchObject({ finish: "length" });
      expect(length + sample!.ids.length).toBe(maxLength);
      await expectAsWithoutCache(engine, model, { request, sample: sample! });
    }
  });

  it("gives the log-probabilities that forward gives at the same temperature", async () => {
    for (const trainable of Object.values(kinds)) {
      const { engine, model, sampler } = await openSampler({ trainable });
      const requests = mixedRequests(9, { longestPrompt: 9, longest: 30 }).filter((r) => r.settings.temperature > 0);
      const samples = await sampleAll(engine, sampler, requests);
      const data = samples.map(({ ids, logprobs }, i) => {
        const { promptIds, settings } = requests[i]!;
        return datumFromIds({
          ids: [...promptIds, ...ids],
          mask: [...promptIds.map(() => 0), ...ids.map(() => 1)],
          logprobs: [...promptIds.map(() => 0), ...logprobs],
          temperature: settings.temperature,
        });
      });
      const results = await engine.forward({ model, data, outputs: ["logprobs"] }, context());
      for (const [i, { behaviourLogprobs }] of data.entries()) {
        for (const [t, expected] of behaviourLogprobs!.entries()) {
          expect(Math.abs(results[i]!.logprobs![t]! - expected)).toBeLessThan(1e-4);
        }
      }
    }
  });

  it.each([
    ["full", { type: "full" }],
    ["LoRA", lora],
  ] as const)("gives the values that forward gives, whichever graph decodes: %s", async (_, trainable) => {
    for (const batchSize of [3, 12]) {
      const { engine, model, sampler } = await openSampler({ trainable, batchSize, valueHead: true });
      // Rows with their own prompts, rows of one prompt, and a context that is filled to its end.
      const prompt = Array.from({ length: 40 }, (_, i) => (i * i) % vocabulary);
      const requests: SampleRequest[] = [
        ...mixedRequests(9, { longestPrompt: 30, longest: 30 }),
        ...[5, 9, 14, 1, 30, 30].map((maxTokens, seed) => ({
          promptIds: prompt,
          settings: { temperature: 0.8, maxTokens },
          seed,
          stopTokenIds: [],
        })),
        {
          promptIds: Array.from({ length: maxLength - 2 }, (_, i) => (3 * i) % vocabulary),
          settings: { temperature: 1, maxTokens: 1000 },
          seed: 1,
          stopTokenIds: [],
        },
      ];
      const samples = await sampleAll(engine, sampler, requests);
      const data = samples.map(({ ids }, i) => {
        const whole = [...requests[i]!.promptIds, ...ids];
        return datumFromIds({ ids: [...whole, 0], mask: [0, ...whole.map(() => 1)] });
      });
      const results = await engine.forward({ model, data, outputs: ["values"] }, context());
      for (const [i, { ids, values }] of samples.entries()) {
        const expected = results[i]!.values!.slice(requests[i]!.promptIds.length - 1);
        expect(expected).toHaveLength(ids.length + 1);
        expect(values).toHaveLength(ids.length + 1);
        for (const [t, value] of values!.entries()) expect(Math.abs(value - expected[t]!)).toBeLessThan(1e-4);
      }
      const all = samples.flatMap(({ values }) => values!);
      expect(Math.max(...all) - Math.min(...all)).toBeGreaterThan(0.1);
    }
  });

  it("renormalizes the tokens that filters keep, from the model's distribution", async () => {
    const { engine, model, sampler } = await openSampler({});
    const filters: Partial<SamplingSettings>[] = [
      { topK: 4 },
      { topP: 0.6 },
      { minP: 0.3 },
      { topK: 1000 },
      { topP: 1 },
    ];
    const requests = filters.map(
      (filter, i): SampleRequest => ({
        promptIds: [1, 2, 3],
        settings: { temperature: 0.9, maxTokens: 25, ...filter },
        seed: i,
        stopTokenIds: [],
      }),
    );
    const samples = await sampleAll(engine, sampler, requests);
    for (const [i, { ids, logprobs }] of samples.entries()) {
      const { topK = vocabulary, topP = 1, minP = 0 } = filters[i]!;
      const rows = await logSoftmaxRows(engine, model, { ids: [1, 2, 3, ...ids], temperature: 0.9 });
      for (const [t, id] of ids.entries()) {
        const row = rows[2 + t]!.map(Math.exp);
        const ranked = [...row].sort((a, b) => b - a);
        let kept = ranked.filter((p, rank) => rank < topK && p >= minP * ranked[0]!);
        let mass = 0;
        kept = kept.filter((p) => {
          const stays = mass < topP;
          mass += p;
          return stays;
        });
        const sum = kept.reduce((total, p) => total + p, 0);
        expect(row[id]).toBeGreaterThanOrEqual(kept.at(-1)! - 1e-6);
        expect(logprobs[t]).toBeCloseTo(Math.log(row[id]! / sum), 3);
      }
    }
  });
});

describe("a request", () => {
  it("gives the same completion in any position and with any other requests, except for rounding", async () => {
    const requests = mixedRequests(30, { longestPrompt: 30, longest: 40 });
    for (const trainable of [{ type: "full" }, lora] as const) {
      const { engine, sampler } = await openSampler({ trainable, batchSize: 32 });
      const expected = await sampleAll(engine, sampler, requests);
      const reordered = createRandom(5).shuffle([...requests.keys()]);
      for (const { batchSize, maxTokensPerPrefill, order } of [
        { batchSize: 1, maxTokensPerPrefill: 500, order: reordered },
        { batchSize: 5, maxTokensPerPrefill: 40, order: reordered },
        { batchSize: 16, maxTokensPerPrefill: 100, order: [...requests.keys()].slice(0, 11) },
      ]) {
        const other = await openSampler({ trainable, batchSize, maxTokensPerPrefill });
        const samples = await sampleAll(
          other.engine,
          other.sampler,
          order.map((i) => requests[i]!),
        );
        for (const [place, sample] of samples.entries()) {
          const alike = expected[order[place]!]!;
          // Products over other numbers of rows round differently, but too little to change a token here.
          expect(sample.ids).toEqual(alike.ids);
          expect(sample.finish).toBe(alike.finish);
          for (const [t, logprob] of sample.logprobs.entries()) expect(logprob).toBeCloseTo(alike.logprobs[t]!, 4);
        }
      }
    }
  });

  it("repeats to the bit in the same list, also after others", async () => {
    for (const trainable of [{ type: "full" }, lora, { type: "frozen" }] as const) {
      const { engine, sampler } = await openSampler({ trainable, batchSize: 4 });
      const requests = mixedRequests(10, { longestPrompt: 20, longest: 70 });
      const first = await sampleAll(engine, sampler, requests);
      await sampleAll(engine, sampler, mixedRequests(3, { longestPrompt: 100, longest: 90 }));
      expect(await sampleAll(engine, sampler, requests)).toEqual(first);
      const again = await openSampler({ trainable, batchSize: 4 });
      expect(await sampleAll(again.engine, again.sampler, requests)).toEqual(first);
    }
  });

  it.each([
    6, 12,
  ])("of a group differs from the group's others only by its seed and settings, %i at a time", async (batchSize) => {
    const { engine, model, sampler } = await openSampler({ batchSize });
    const promptIds = Array.from({ length: 50 }, (_, i) => (i * i) % vocabulary);
    const request = (seed: number, temperature = 1): SampleRequest => ({
      promptIds,
      settings: { temperature, maxTokens: 20 },
      seed,
      stopTokenIds: [],
    });
    const others = Array.from({ length: 5 }, (_, i) => request(10 + i));
    const requests = [
      request(1),
      request(2),
      request(1),
      request(3, 0),
      request(4, 0.5),
      request(5, 0),
      request(2),
    ].concat(others);
    const samples = await sampleAll(engine, sampler, requests);
    expect(samples[2]!.ids).toEqual(samples[0]!.ids);
    expect(samples[5]!.ids).toEqual(samples[3]!.ids);
    expect(samples[6]!.ids).toEqual(samples[1]!.ids);
    expect(samples[1]!.ids).not.toEqual(samples[0]!.ids);
    for (const [i, sample] of samples.entries()) {
      await expectAsWithoutCache(engine, model, { request: requests[i]!, sample });
    }
  });

  it("is answered as soon as it ends, before longer ones", async () => {
    const { engine, sampler } = await openSampler({ batchSize: 3 });
    const requests = [30, 1, 10, 2].map(
      (maxTokens, seed): SampleRequest => ({
        promptIds: [1],
        settings: { temperature: 1, maxTokens },
        seed,
        stopTokenIds: [],
      }),
    );
    const order: number[] = [];
    await engine.sample(
      { sampler, requests },
      context((item) => typeof item !== "number" && order.push((item as Sample).request)),
    );
    expect(order).toEqual([1, 3, 2, 0]);
  });

  it("with a stop sequence ends where the decoded text contains it", async () => {
    const bytes = { ...tied, vocab_size: 263 };
    const { engine, sampler } = await openSampler({ config: bytes });
    const request: SampleRequest = {
      promptIds: [72, 101],
      settings: { temperature: 1, maxTokens: 60 },
      seed: 3,
      stopTokenIds: [],
    };
    const [free] = await sampleAll(engine, sampler, [request]);
    const place = free!.ids.findIndex((id, i) => i > 5 && id < 128 && free!.ids[i + 1]! < 128);
    const stop = String.fromCharCode(free!.ids[place]!, free!.ids[place + 1]!);
    const [stopped] = await sampleAll(engine, sampler, [
      { ...request, settings: { ...request.settings, stop: [stop] } },
    ]);
    expect(stopped).toEqual({
      request: 0,
      ids: free!.ids.slice(0, place + 2),
      logprobs: free!.logprobs.slice(0, place + 2),
      finish: "stop",
      stopString: stop,
    });
  });
});

/** Counts the runs of each kind of graph. */
class CountingSessions extends SessionCache {
  readonly runs = { prefill: 0, decode: 0 };

  override get(...[key, plan]: Parameters<SessionCache["get"]>): ReturnType<SessionCache["get"]> {
    this.runs[key.startsWith("prefill|") ? "prefill" : "decode"] += 1;
    return super.get(key, plan);
  }
}

describe("a dropped request", () => {
  it.each([
    ["different prompts", [1, 1, 1, 1, 1, 1, 1, 1, 1]],
    ["shared prompts", [9, 8, 3]],
  ])("leaves the others as they are, with %s", async (_, groups) => {
    for (const batchSize of [20, 5]) {
      const { engine, model, sampler } = await openSampler({ batchSize });
      const requests = groups.flatMap((rows, group) =>
        Array.from({ length: rows }, (_, row): SampleRequest => {
          const settings = { temperature: 1, maxTokens: 8 + 7 * (row % 4) };
          return { promptIds: [group, 2, 3], settings, seed: 10 * group + row, stopTokenIds: [] };
        }),
      );
      const dropped = new Set<number>();
      const samples: Sample[] = [];
      const late: number[] = [];
      let steps = 0;
      const emit = (item: unknown): void => {
        if (typeof item === "number") return;
        if (!Array.isArray(item)) return void samples.push(item as Sample);
        for (const { request } of item) if (dropped.has(request)) late.push(request);
        steps += 1;
        // Rows of the batch, and requests that still wait for a row.
        if (steps === 3) for (const index of requests.keys()) if (index % 3 !== 1) dropped.add(index);
      };
      await engine.sample({ sampler, requests, reportTokens: true }, { ...context(emit), dropped });
      expect(late).toEqual([]);
      const places = samples.map(({ request }) => request);
      expect(places.toSorted((a, b) => a - b)).toEqual([...requests.keys()].filter((index) => index % 3 === 1));
      for (const sample of samples) {
        const request = requests[sample.request]!;
        expect(sample.ids).toHaveLength(request.settings.maxTokens);
        await expectAsWithoutCache(engine, model, { request, sample });
      }
    }
  });
});

describe("the work of a batch", () => {
  async function countRuns(
    requests: readonly SampleRequest[],
    batchSize: number,
    dropped: readonly number[] = [],
  ): Promise<CountingSessions["runs"]> {
    await using sessions = new CountingSessions({ device: "cpu", threads: 1 });
    const config = readDecoderConfig(tied);
    const sampler = new BatchSampler({
      weights: { config, base: new ParameterBlock(decoderParameters(config)) },
      sessions,
      tables: new PositionTables(config),
      adapterBuffers: new AdapterBuffers(),
      settings: { batchSize, maxTokensPerPrefill: 100 },
      frozenBase: undefined,
      kept: new KeptMemory().open(config),
      tokenizer: () => Promise.reject(new Error("No request has a stop string.")),
    });
    let samples = 0;
    const { signal } = new AbortController();
    await sampler.sample(requests, { signal, dropped: new Set(dropped), onSample: () => samples++ });
    expect(samples).toBe(requests.length - dropped.length);
    return sessions.runs;
  }
  const request = (promptIds: readonly number[], seed: number, maxTokens = 10): SampleRequest => ({
    promptIds,
    settings: { temperature: 1, maxTokens },
    seed,
    stopTokenIds: [],
  });

  it("is one prefill of a prompt that many requests share, and one step for each token of all requests", async () => {
    const shared = Array.from({ length: 90 }, () => 1);
    const group = [1, 2, 3, 4, 5, 6].map((seed) => request(shared, seed));
    expect(await countRuns(group, 6)).toEqual({ prefill: 1, decode: 9 });
    expect(await countRuns([...group, request([2], 7)], 7)).toEqual({ prefill: 2, decode: 9 });
  });

  it("is nothing for dropped requests", async () => {
    const requests = [request([1], 1, 3), request([2], 2, 30), request([3], 3, 30)];
    expect(await countRuns(requests, 1, [1, 2])).toEqual({ prefill: 1, decode: 2 });
    expect(await countRuns(requests, 3, [0, 1, 2])).toEqual({ prefill: 0, decode: 0 });
  });

  it("is no decoding step if all completions have one token", async () => {
    expect(await countRuns([request([1], 1, 1), request([1, 2], 2, 1)], 4)).toEqual({ prefill: 1, decode: 0 });
  });
});

describe("adapters over one base", () => {
  const adapters: TrainableSpec[] = [
    lora,
    { type: "lora", lora: { rank: 3, alpha: 6, seed: 2 } },
    // The diagonals have as many values as those of the others, in other places.
    { type: "lora", lora: { rank: 3, alpha: 3, seed: 3, targets: ["k_proj", "up_proj", "down_proj"] } },
    { type: "lora", lora: { rank: 3, alpha: 3, seed: 4, targets: ["v_proj", "gate_proj", "o_proj"] } },
    { type: "frozen" },
  ];
  const requests = mixedRequests(10, { longestPrompt: 9, longest: 12 });

  it("decode in turn with their own weights", async () => {
    const { engine, model, sampler } = await openSampler({ trainable: adapters[0]! });
    const agents = [{ model, sampler }];
    for (const trainable of adapters.slice(1)) {
      const { model } = await engine.open({
        source: { type: "scratch", config: tied, seed: 1 },
        trainable,
        valueHead: false,
      });
      if (trainable.type === "lora") await takeStep(engine, model, { stepId: 1 });
      agents.push({ model, ...(await engine.snapshot({ model })) });
    }
    const spoken = new Set<string>();
    for (const { model, sampler } of [...agents, ...agents.toReversed()]) {
      const samples = await sampleAll(engine, sampler, requests);
      for (const [i, sample] of samples.entries()) {
        await expectAsWithoutCache(engine, model, { request: requests[i]!, sample });
      }
      spoken.add(JSON.stringify(samples.map(({ ids }) => ids)));
    }
    expect(spoken.size).toBe(agents.length);
  });

  it("decode with the weights from when they were lent, and later with the trained ones", async () => {
    const { engine, model, sampler } = await openSampler({ trainable: lora });
    const before = await sampleAll(engine, sampler, requests);
    await takeStep(engine, model, { stepId: 2 });
    const changed = (await engine.snapshot({ model })).sampler;
    expect(await sampleAll(engine, changed, requests)).not.toEqual(before);
    expect(await sampleAll(engine, sampler, requests)).toEqual(before);
    // After they are given back, the weights are changed in place.
    for (const closed of [sampler, changed]) await engine.closeSampler({ sampler: closed });
    for (const stepId of [3, 4]) {
      await takeStep(engine, model, { stepId });
      const now = (await engine.snapshot({ model })).sampler;
      const samples = await sampleAll(engine, now, requests);
      for (const [i, sample] of samples.entries()) {
        await expectAsWithoutCache(engine, model, { request: requests[i]!, sample });
      }
      await engine.closeSampler({ sampler: now });
    }
  });
});

describe("sampling that is aborted", () => {
  it("stops between two runs, keeps finished samples, and leaves the sampler usable", async () => {
    const { engine, sampler } = await openSampler({ batchSize: 2 });
    const requests = mixedRequests(8, { longestPrompt: 3, longest: 60 });
    const expected = await sampleAll(engine, sampler, requests);
    const stop = new AbortController();
    const given: Sample[] = [];
    const run = engine.sample(
      { sampler, requests },
      context((item) => {
        if (typeof item === "number") return;
        given.push(item as Sample);
        if (given.length === 3) stop.abort();
      }, stop.signal),
    );
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    expect(given.length).toBeGreaterThanOrEqual(3);
    expect(given.length).toBeLessThan(requests.length);
    for (const sample of given) expect(sample).toEqual(expected[sample.request]);
    expect(await sampleAll(engine, sampler, requests)).toEqual(expected);
  });
});

describe("a model that has diverged", () => {
  it("throws its own error instead of sampling", async () => {
    const { engine, model } = await openSampler({});
    const shape = [16];
    const data = new Float32Array(16).fill(Number.NaN);
    await engine.setParameters({ model, parameters: [{ name: "model.norm.weight", shape, data }] });
    const { sampler } = await engine.snapshot({ model });
    for (const temperature of [0, 1]) {
      const request = { promptIds: [1], settings: { temperature, maxTokens: 3 }, seed: 0, stopTokenIds: [] };
      await expect(engine.sample({ sampler, requests: [request] }, context())).rejects.toMatchObject({
        code: "backend.not-finite",
        hint: expect.any(String),
      });
    }
  });
});
