import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Sample, SampleRequest } from "../../../src/contract/sampler.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { TrainableSpec } from "../../../trainers/backend/training-backend.ts";
import { AdapterBuffers } from "../../../trainers/backends/onnx/engine/adapter-buffer.ts";
import { createEngine } from "../../../trainers/backends/onnx/engine/engine.ts";
import type { CallContext, EngineCalls } from "../../../trainers/backends/onnx/engine/engine-calls.ts";
import { blockTokens, KeptPrefixes } from "../../../trainers/backends/onnx/engine/kept-prefixes.ts";
import { PositionTables } from "../../../trainers/backends/onnx/engine/position-tables.ts";
import { BatchSampler } from "../../../trainers/backends/onnx/engine/sampler.ts";
import { SessionCache } from "../../../trainers/backends/onnx/engine/session-cache.ts";
import { initializeParameters } from "../../../trainers/backends/onnx/models/initial-weights.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { isSlowTier, sampleOf } from "../../tier.ts";
import { decoderConfigs } from "./decoder-configs.ts";

const maxLength = 200;
const vocabulary = 29;
const tied = decoderConfigs["llama, tied, grouped queries"]!;
const lora: TrainableSpec = { type: "lora", lora: { rank: 3, alpha: 6, seed: 1 } };

/** Opens samplers of one model on this thread, each with its own kept prefixes. */
function openModel(source: Readonly<Record<string, unknown>>) {
  const config = readDecoderConfig({ ...source, max_position_embeddings: maxLength });
  const base = new ParameterBlock(decoderParameters(config));
  initializeParameters(base, { seed: 1, deviation: config.initializerRange });
  const sessions = new SessionCache({ device: "cpu", threads: 1 });
  const size = config.layers * config.keyValueHeads * config.headSize;
  const open = (options: {
    readonly keptTokens?: number;
    readonly batchSize?: number;
    readonly maxTokens?: number;
  }) => {
    const { keptTokens = Infinity, batchSize = 8, maxTokens = 300 } = options;
    return new BatchSampler({
      weights: { config, base },
      sessions,
      tables: new PositionTables(config),
      adapterBuffers: new AdapterBuffers(),
      settings: { batchSize, maxTokensPerPrefill: maxTokens },
      frozenBase: undefined,
      kept: new KeptPrefixes({ size, mostBytes: keptTokens * 2 * size * 4 }),
      tokenizer: () => Promise.reject(new Error("No request has a stop string.")),
    });
  };
  return { open, [Symbol.asyncDispose]: () => sessions[Symbol.asyncDispose]() };
}

type Options = Omit<Parameters<BatchSampler["sample"]>[1], "signal" | "onSample">;

/** Samples in the order of the requests. */
async function sampleAll(
  sampler: BatchSampler,
  requests: readonly SampleRequest[],
  options: Options = { reuse: true },
): Promise<Sample[]> {
  const samples: Sample[] = [];
  const { signal } = new AbortController();
  await sampler.sample(requests, { ...options, signal, onSample: (sample) => samples.push(sample) });
  return samples.toSorted((a, b) => a.request - b.request);
}

/** Expects that samples differ by rounding only. */
function expectAlike(samples: readonly Sample[], expected: readonly Sample[]): void {
  expect(samples.map(({ ids, finish }) => ({ ids, finish }))).toEqual(
    expected.map(({ ids, finish }) => ({ ids, finish })),
  );
  for (const [i, { logprobs }] of samples.entries()) {
    for (const [t, logprob] of logprobs.entries()) {
      expect(Math.abs(logprob - expected[i]!.logprobs[t]!), `sample ${i}, token ${t}`).toBeLessThan(1e-5);
    }
  }
}

function request(promptIds: readonly number[], seed: number, settings: Partial<SampleRequest["settings"]> = {}) {
  return {
    promptIds,
    settings: { temperature: seed % 3 === 0 ? 0 : 1, maxTokens: 12, ...settings },
    seed,
    stopTokenIds: seed % 4 === 0 ? [3] : [],
  } satisfies SampleRequest;
}

function idsOf(seed: number, length: number): number[] {
  const random = createRandom(seed);
  return Array.from({ length }, () => random.integer(0, vocabulary - 1));
}

/** A call: which conversations go on, or begin with others, and by how many tokens. */
const call = fc.array(
  fc.record({
    /** The conversation that goes on. A new one, if there are none. */
    from: fc.nat(),
    /** How much of it is left out at its end, so that conversations branch. */
    without: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(40)),
    asked: fc.integer({ min: 1, max: 40 }),
    maxTokens: fc.integer({ min: 1, max: 30 }),
    /** Equal requests at once. */
    copies: fc.integer({ min: 1, max: 3 }),
    isNew: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

const conversations = fc.record({
  calls: fc.array(call, { minLength: 2, maxLength: isSlowTier ? 10 : 6 }),
  keptTokens: fc.oneof(
    fc.constant(Infinity),
    fc.integer({ min: 0, max: 12 }).map((blocks) => blocks * blockTokens),
  ),
  batchSize: fc.constantFrom(1, 3, 8, 16),
  maxTokens: fc.constantFrom(40, 300),
  shared: fc.boolean(),
});

/** Plays conversations with kept prefixes, and compares each call with one without. Returns the tokens of the prompts. */
async function play(
  model: ReturnType<typeof openModel>,
  { calls, shared, ...options }: typeof conversations extends fc.Arbitrary<infer Value> ? Value : never,
): Promise<BatchSampler["promptTokens"]> {
  const [keeping, plain] = [model.open(options), model.open({ batchSize: options.batchSize })];
  const texts: number[][] = [];
  for (const [turn, asked] of calls.entries()) {
    const requests = asked.flatMap(({ from, without, asked: length, maxTokens, copies, isNew }, i) => {
      const before = isNew || texts.length === 0 ? idsOf(7, 90) : texts[from % texts.length]!;
      const prompt = [...before.slice(0, Math.max(0, before.length - without)), ...idsOf(100 * turn + i, length)];
      const promptIds = prompt.slice(0, maxLength - 1);
      return Array.from({ length: copies }, (_, copy) => request(promptIds, 31 * turn + 7 * i + copy, { maxTokens }));
    });
    const samples = await sampleAll(keeping, requests, shared ? { shared } : { reuse: true });
    expectAlike(samples, await sampleAll(plain, requests, {}));
    for (const [i, { ids, reusedTokens = 0 }] of samples.entries()) {
      expect(reusedTokens).toBeLessThan(requests[i]!.promptIds.length);
      texts.push([...requests[i]!.promptIds, ...ids]);
    }
  }
  expect(plain.promptTokens.reused).toBe(0);
  if (options.keptTokens === 0) expect(keeping.promptTokens.reused).toBe(0);
  return keeping.promptTokens;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("conversations that continue what was read before", () => {
  const windowed = Object.entries(decoderConfigs).filter(([name]) => name.includes("window"));
  const others = Object.entries(decoderConfigs).filter(([name]) => !name.includes("window"));

  it.each([
    ...sampleOf(windowed, 4),
    ...sampleOf(others, 5),
  ])("are the same as without, except for rounding: %s", async (_, source) => {
    await using model = openModel(source);
    const total = { read: 0, reused: 0 };
    const property = fc.asyncProperty(conversations, async (values) => {
      const { read, reused } = await play(model, values);
      total.read += read;
      total.reused += reused;
    });
    await fc.assert(property, { numRuns: isSlowTier ? 60 : 8 });
    expect(total.reused).toBeGreaterThan(total.read / 20);
  });

  it("would differ if the blocks of another sequence were found", async () => {
    const { find } = KeptPrefixes.prototype;
    vi.spyOn(KeptPrefixes.prototype, "find").mockImplementation(function (this: KeptPrefixes, ids) {
      // Looks only at the first tokens, and takes what follows them.
      const found = [...find.call(this, ids)];
      for (let block = found.at(-1); block !== undefined && (found.length + 1) * blockTokens < ids.length; ) {
        [block] = block.next.values();
        if (block !== undefined) found.push(block);
      }
      return found;
    });
    await using model = openModel(tied);
    const playAll = async (): Promise<void> => {
      for (const values of fc.sample(conversations, { numRuns: 8, seed: 1 })) await play(model, values);
    };
    await expect(playAll()).rejects.toMatchObject({ name: "AssertionError" });
  });

  it("read each token once in a game of eight turns", async () => {
    await using model = openModel(tied);
    const sampler = model.open({});
    let ids = idsOf(1, 20);
    for (let turn = 0; turn < 8; turn++) {
      const requests = [1, 2].map((seed) => request(ids, seed, { maxTokens: 10 }));
      const [sample] = await sampleAll(sampler, requests);
      ids = [...ids, ...sample!.ids, ...idsOf(turn, 10)];
    }
    const { read, reused } = sampler.promptTokens;
    // Prompts have 20, 40, ... 160 tokens. All but the first read their new tokens, and at most a block again.
    expect(read + reused).toBe(20 + 40 + 60 + 80 + 100 + 120 + 140 + 160);
    expect(read).toBeLessThanOrEqual(20 + 7 * (10 + blockTokens + 1));
  });

  it.each([0.3, 0.6])("keep what fits if all together need more memory (%d of it)", async (share) => {
    await using model = openModel(tied);
    const [games, turns] = [12, 6];
    const start = 64;
    // At the end of a turn, a game has 64, 80, ... 144 tokens, all of which are kept if there is room.
    const lengths = Array.from({ length: turns }, (_, turn) => start + 16 * turn);
    const most = Math.floor((share * games * lengths.at(-1)!) / blockTokens) * blockTokens;
    const sampler = model.open({ batchSize: 3, keptTokens: most });
    const texts = Array.from({ length: games }, (_, game) => idsOf(game, start - 7));
    for (let turn = 0; turn < turns; turn++) {
      const requests = texts.map((ids, game) => request(ids, 4 * game + 1, { maxTokens: 8 }));
      const samples = await sampleAll(sampler, requests);
      for (const [game, { ids }] of samples.entries()) texts[game]!.push(...ids, ...idsOf(turn, 8));
    }
    // Of the tokens that a game may continue, a turn finds those that there was room for.
    const best = lengths.slice(0, -1).reduce((sum, length) => sum + Math.min(most, games * length), 0);
    expect(sampler.promptTokens.reused).toBeGreaterThan(0.75 * best);
  });
});

describe("prompts with a common beginning", () => {
  const beginning = idsOf(1, 100);

  it("read it once, also in one call", async () => {
    await using model = openModel(tied);
    const sampler = model.open({ batchSize: 16 });
    const requests = [1, 2, 3, 4, 5, 6].map((seed) => request([...beginning, ...idsOf(seed, 9)], seed));
    const samples = await sampleAll(sampler, requests);
    // 100 tokens have six whole blocks. The first prompt reads itself, and the others what is after these blocks.
    expect(sampler.promptTokens).toEqual({ read: 109 + 5 * 13, reused: 5 * 96 });
    expect(samples.map(({ reusedTokens }) => reusedTokens)).toEqual([undefined, 96, 96, 96, 96, 96]);
    expectAlike(samples, await sampleAll(model.open({ batchSize: 16 }), requests, {}));
  });

  it("of which one is another's beginning give their own samples", async () => {
    await using model = openModel(tied);
    const sampler = model.open({});
    const requests = [100, 16, 17, 32, 1, 99, 100].map((length, seed) => request(beginning.slice(0, length), seed));
    for (const order of [requests, requests.toReversed()]) {
      const samples = await sampleAll(sampler, order);
      expectAlike(samples, await sampleAll(model.open({}), order, {}));
    }
    expect(sampler.promptTokens.reused).toBeGreaterThan(0);
  });

  it("are kept without the completions that nobody continues", async () => {
    await using model = openModel(tied);
    const [playing, last] = [model.open({}), model.open({})];
    const requests = [1, 2].map((seed) => request(beginning, seed, { maxTokens: 40 }));
    const samples = await sampleAll(playing, requests);
    expectAlike(
      await sampleAll(
        last,
        requests.map((each) => ({ ...each, last: true })),
      ),
      samples,
    );
    const next = request([...beginning, ...samples[0]!.ids, ...idsOf(3, 9)], 3);
    for (const [sampler, tokens] of [
      [playing, 100 + samples[0]!.ids.length],
      [last, 100],
    ] as const) {
      const [sample] = await sampleAll(sampler, [next]);
      expect(sample!.reusedTokens).toBe(tokens - (tokens % blockTokens));
    }
  });

  it("are not read one after another if their beginning cannot be kept", async () => {
    await using model = openModel(tied);
    const sampler = model.open({ batchSize: 16, keptTokens: 64, maxTokens: 2000 });
    const prefill = vi.spyOn(sampler, "prefill");
    await sampleAll(
      sampler,
      [1, 2, 3, 4, 5, 6].map((seed) => request([...beginning, ...idsOf(seed, 9)], seed)),
    );
    expect(prefill).toHaveBeenCalledTimes(1);
  });
});

describe("an engine", () => {
  const source = { type: "scratch", config: { ...tied, max_position_embeddings: maxLength }, seed: 1 } as const;
  const settings = { device: "cpu", threads: 1, maxTokensPerMicroBatch: 500, decodeBatchSize: 8 } as const;
  const prompt = idsOf(5, 60);

  function context(emit: CallContext["emit"] = () => undefined, signal = new AbortController().signal): CallContext {
    return { signal, emit };
  }

  async function sample(engine: EngineCalls, sampler: number, requests: readonly SampleRequest[], reuse = true) {
    const samples: Sample[] = [];
    await engine.sample(
      { sampler, requests, reuse },
      context((item) => typeof item !== "number" && samples.push(item as Sample)),
    );
    return samples.toSorted((a, b) => a.request - b.request);
  }

  async function takeStep(engine: EngineCalls, model: number, stepId: number): Promise<void> {
    const ids = idsOf(9, 12);
    const data = [datumFromIds({ ids, mask: ids.map(() => 1) })];
    await engine.forwardBackward({ model, data, terms: [{ type: "crossEntropy" }] }, context());
    const params = { learningRate: 0.05, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
    await engine.optimStep({ model, params, stepId });
  }

  it.each([
    ["full", { type: "full" }],
    ["LoRA", lora],
  ] as const)("uses nothing of earlier weights: %s", async (_, trainable) => {
    const engine = createEngine(settings);
    const { model } = await engine.open({ source, trainable });
    const { sampler: before } = await engine.snapshot({ model });
    const [first] = await sample(engine, before, [request(prompt, 1)]);
    await takeStep(engine, model, 1);
    const { sampler: after } = await engine.snapshot({ model });
    const ids = [...prompt, ...first!.ids, ...idsOf(6, 5)];
    // Between two turns, the weights change. Each sampler goes on with its own.
    for (const sampler of [after, before, after]) {
      const samples = await sample(engine, sampler, [request(ids, 2)]);
      expectAlike(samples, await sample(engine, sampler, [request(ids, 2)], false));
    }
    const [again] = await sample(engine, before, [request(ids, 2)]);
    expect(again!.reusedTokens).toBeGreaterThan(60);
  });

  it("keeps what each adapter of a base has read apart", async () => {
    const engine = createEngine(settings);
    const samplers: number[] = [];
    for (const seed of [1, 2]) {
      const { model } = await engine.open({ source, trainable: { ...lora, lora: { ...lora.lora, seed } } });
      await takeStep(engine, model, 1);
      samplers.push((await engine.snapshot({ model })).sampler);
    }
    const found: number[][] = [];
    for (const sampler of [...samplers, ...samplers]) {
      const [own] = await sample(engine, sampler, [request(prompt, 1)]);
      expectAlike([own!], await sample(engine, sampler, [request(prompt, 1)], false));
      found.push([...own!.ids]);
    }
    expect(found[0]).not.toEqual(found[1]);
  });

  it("forgets what a frozen model has read when another one begins to sample or to learn, but not the others", async () => {
    const engine = createEngine(settings);
    const frozen = await engine.open({ source, trainable: { type: "frozen" } });
    const { sampler } = await engine.snapshot({ model: frozen.model });
    const trained = await engine.open({ source, trainable: lora });
    const { sampler: playing } = await engine.snapshot({ model: trained.model });
    const reused = async (of: number): Promise<number | undefined> => {
      return (await sample(engine, of, [request(prompt, 1)]))[0]!.reusedTokens;
    };
    expect([await reused(sampler), await reused(sampler)]).toEqual([undefined, 48]);
    expect([await reused(playing), await reused(playing)]).toEqual([undefined, 48]);
    await engine.snapshot({ model: trained.model });
    expect([await reused(sampler), await reused(sampler)]).toEqual([undefined, 48]);
    await takeStep(engine, trained.model, 1);
    expect([await reused(sampler), await reused(sampler)]).toEqual([undefined, 48]);
    expect(await reused(playing)).toBe(48);
  });

  it("keeps what was read before an abort, and goes on as without", async () => {
    const engine = createEngine(settings);
    const { model } = await engine.open({ source, trainable: { type: "frozen" } });
    const { sampler } = await engine.snapshot({ model });
    const stop = new AbortController();
    let steps = 0;
    const emit = (item: unknown): void => {
      if (Array.isArray(item) && ++steps === 20) stop.abort();
    };
    const long = [1, 2].map((seed) => request([...prompt, seed], seed, { maxTokens: 60 }));
    const aborted = engine.sample(
      { sampler, requests: long, reuse: true, reportTokens: true },
      context(emit, stop.signal),
    );
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    const requests = [1, 2, 3].map((seed) => request([...prompt, seed], seed, { maxTokens: 60 }));
    const samples = await sample(engine, sampler, requests);
    expect(samples.map(({ reusedTokens }) => reusedTokens)).toEqual([48, 48, 48]);
    expectAlike(samples, await sample(engine, sampler, requests, false));
  });

  it("does not count on the tokens after a stop", async () => {
    const engine = createEngine(settings);
    const { model } = await engine.open({ source, trainable: { type: "frozen" } });
    const { sampler } = await engine.snapshot({ model });
    const [whole] = await sample(engine, sampler, [{ ...request(prompt, 1, { maxTokens: 60 }), stopTokenIds: [] }]);
    // The next turn has only a part of the completion, as if its text had been cut at a stop.
    const next = [1, 15, 16, 17, 30].map((cut) => request([...prompt, ...whole!.ids.slice(0, cut), 4, 5, 6], cut));
    expectAlike(await sample(engine, sampler, next), await sample(engine, sampler, next, false));
  });

  it("gives the values of a value head, which come one step after the last token", async () => {
    const engine = createEngine(settings);
    const { model } = await engine.open({ source, trainable: { type: "full" }, valueHead: true });
    const { sampler } = await engine.snapshot({ model });
    const [first] = await sample(engine, sampler, [request(prompt, 1, { maxTokens: 30 })]);
    const next = [request([...prompt, ...first!.ids, 3, 4], 2, { maxTokens: 30 })];
    const [samples, expected] = [await sample(engine, sampler, next), await sample(engine, sampler, next, false)];
    expect(samples[0]!.reusedTokens).toBeGreaterThan(60);
    expectAlike(samples, expected);
    for (const [t, value] of samples[0]!.values!.entries()) {
      expect(Math.abs(value - expected[0]!.values![t]!)).toBeLessThan(1e-5);
    }
  });

  it("repeats equal lists of calls to the bit, with little memory too", async () => {
    for (const keptBytes of [0, 40_000, 1e9]) {
      const runs: Sample[][] = [];
      for (let run = 0; run < 2; run++) {
        const engine = createEngine({ ...settings, keptBytes });
        const { model } = await engine.open({ source, trainable: { type: "frozen" } });
        const { sampler } = await engine.snapshot({ model });
        const samples: Sample[] = [];
        let texts = [1, 2, 3, 4, 5, 6, 7].map((seed) => [...prompt, ...idsOf(seed, 5)]);
        for (let turn = 0; turn < 3; turn++) {
          const turns = await sample(
            engine,
            sampler,
            texts.map((ids, seed) => request(ids, seed)),
          );
          texts = texts.map((ids, i) => [...ids, ...turns[i]!.ids, ...idsOf(turn, 5)]);
          samples.push(...turns);
        }
        runs.push(samples);
      }
      expect(runs[1]).toEqual(runs[0]);
    }
  });

  it("answers thousands of short requests", async () => {
    const engine = createEngine({ ...settings, keptBytes: 1e6, decodeBatchSize: 32 });
    const { model } = await engine.open({ source, trainable: { type: "frozen" } });
    const { sampler } = await engine.snapshot({ model });
    const requests = Array.from({ length: 2000 }, (_, i) =>
      request([i % vocabulary, ...idsOf(i, 20)], i, { maxTokens: 2 }),
    );
    expect(await sample(engine, sampler, requests)).toHaveLength(2000);
  });
});
