import { getEventListeners } from "node:events";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Sample, SampledToken, SampleOptions, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { createEngine } from "../../../trainers/backends/onnx/engine/engine.ts";
import { KeyValueCache } from "../../../trainers/backends/onnx/engine/key-value-cache.ts";
import { SessionCache } from "../../../trainers/backends/onnx/engine/session-cache.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { tinyConfig } from "./tiny-config.ts";

const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
const lora = { type: "lora", lora: { rank: 2, alpha: 4, seed: 2 } } as const;

async function openSampler(batchSize = 4) {
  const backend = await createOnnxBackend({
    device: "cpu",
    threads: 1,
    maxTokensPerMicroBatch: 40,
    decodeBatchSize: batchSize,
  });
  const model = await backend.openModel({ source, trainable: lora });
  return { model, sampler: await model.snapshot(), [Symbol.asyncDispose]: () => backend.close() };
}

/** A request with its own prompt, a third of them greedy. */
function requestOf(seed: number, maxTokens: number): SampleRequest {
  const random = createRandom(seed);
  const promptIds = Array.from({ length: random.integer(1, 20) }, () => random.integer(0, 255));
  return { promptIds, settings: { temperature: [0, 1, 0.7][seed % 3]!, maxTokens }, seed, stopTokenIds: [] };
}

async function sampleAll(sampler: Sampler, requests: readonly SampleRequest[], options?: SampleOptions) {
  const samples = await Array.fromAsync(sampler.sample(requests, options));
  return samples.toSorted((first, second) => first.request - second.request);
}

/** Expects that samples differ by rounding only. */
function expectAlike(samples: readonly Sample[], expected: readonly Sample[]): void {
  const exact = ({ logprobs, reusedTokens, ...rest }: Sample) => rest;
  expect(samples.map(exact)).toEqual(expected.map(exact));
  for (const [i, { logprobs }] of samples.entries()) {
    for (const [t, logprob] of logprobs.entries()) {
      expect(Math.abs(logprob - expected[i]!.logprobs[t]!)).toBeLessThan(1e-4);
    }
  }
}

/** Starts a shared call, and resolves after its first tokens. */
async function startCall(
  sampler: Sampler,
  requests: readonly SampleRequest[],
): Promise<{ samples: Promise<Sample[]> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const samples = sampleAll(sampler, requests, { shared: true, onSampled: () => resolve() });
  await promise;
  return { samples };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("shared calls", () => {
  it("give what each gives alone except for rounding, whenever they join and whoever is aborted", async () => {
    await using opened = await openSampler();
    const { sampler } = opened;
    const call = fc.record({
      seeds: fc.array(fc.nat(40), { minLength: 1, maxLength: 6 }),
      maxTokens: fc.integer({ min: 1, max: 40 }),
      /** The call begins after this many tokens of the earlier ones. */
      after: fc.nat(60),
      /** The call or one of its requests is aborted after its own tokens. */
      aborted: fc.option(fc.record({ after: fc.nat(30), request: fc.option(fc.nat(5)) }), { nil: undefined }),
    });
    const property = fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 6 }), async (calls) => {
      let tokens = 0;
      const starts: { readonly after: number; readonly start: () => void }[] = [];
      const startDue = (isLast: boolean): void => {
        for (const next of starts.splice(0)) {
          if (isLast || next.after <= tokens) next.start();
          else starts.push(next);
        }
      };
      const results = calls.map(async ({ seeds, maxTokens, after, aborted }, index) => {
        const requests = seeds.map((seed) => requestOf(seed, maxTokens + (seed % 5)));
        if (index > 0) await new Promise<void>((start) => starts.push({ after, start }));
        const [stop, drop] = [new AbortController(), new AbortController()];
        const open = new AbortController().signal;
        const dropped = aborted === undefined || aborted.request === null ? -1 : aborted.request % requests.length;
        const reported = requests.map(() => [] as number[]);
        let own = 0;
        const onSampled = (step: readonly SampledToken[]): void => {
          for (const { request, id } of step) reported[request]!.push(id);
          own += step.length;
          tokens += step.length;
          if (aborted !== undefined && own > aborted.after) (dropped === -1 ? stop : drop).abort();
          startDue(false);
        };
        const signals = requests.map((_, place) => (place === dropped ? drop.signal : open));
        const samples: Sample[] = [];
        const outcome = async (): Promise<unknown> => {
          const options = { signal: stop.signal, signals, onSampled, shared: true };
          for await (const sample of sampler.sample(requests, options)) samples.push(sample);
          return undefined;
        };
        const error = await outcome().catch((reason: unknown) => reason);
        startDue(true);
        for (const { signal } of [stop, drop]) expect(getEventListeners(signal, "abort")).toEqual([]);
        return { requests, samples, reported, dropped, error, stopped: stop.signal };
      });
      for (const { requests, samples, reported, dropped, error, stopped } of await Promise.all(results)) {
        if (error !== undefined) expect(error).toBe(stopped.reason);
        const alone = await sampleAll(sampler, requests);
        const places = samples.map(({ request }) => request).toSorted((first, second) => first - second);
        expectAlike(
          samples.toSorted((first, second) => first.request - second.request),
          places.map((place) => alone[place]!),
        );
        if (error === undefined) expect(new Set([...places, dropped])).toEqual(new Set([...requests.keys(), dropped]));
        for (const [place, ids] of reported.entries()) {
          expect(alone[place]!.ids.slice(0, ids.length)).toEqual(ids);
          if (places.includes(place)) expect(ids).toHaveLength(alone[place]!.ids.length);
        }
      }
    });
    await fc.assert(property, { numRuns: 25 });
  });

  it("that come later and are shorter end first, also if all rows are taken", async () => {
    for (const [rows, longTokens] of [[1, 40] as const, [40, 20] as const]) {
      await using opened = await openSampler();
      const { sampler } = opened;
      const begun = Promise.withResolvers<void>();
      let ended = 0;
      const requests = Array.from({ length: rows }, (_, seed) => requestOf(seed, longTokens));
      const run = async (): Promise<void> => {
        for await (const _ of sampler.sample(requests, { shared: true, onSampled: () => begun.resolve() })) ended++;
      };
      const long = run();
      await begun.promise;
      await sampleAll(sampler, [requestOf(50, 3)], { shared: true });
      expect(ended).toBeLessThan(Math.ceil(rows / 2));
      await long;
      expect(ended).toBe(rows);
    }
  });

  it("get a row in turn if there are more calls than rows", async () => {
    await using opened = await openSampler(2);
    const { sampler } = opened;
    const ended: string[] = [];
    const call = (name: string, requests: readonly SampleRequest[]): Promise<unknown> =>
      sampleAll(sampler, requests, { shared: true }).then(() => ended.push(name));
    const many = [1, 2, 3, 4, 5].map((i) =>
      call(
        `many ${i}`,
        Array.from({ length: 8 }, (_, k) => requestOf(k, 4)),
      ),
    );
    await Promise.all([...many, call("one", [requestOf(1, 4)])]);
    expect(ended[0]).toBe("one");
    expect(ended).toHaveLength(6);
  });

  it("leave their rows to others when they are aborted", async () => {
    const runs: string[] = [];
    const get = SessionCache.prototype.get;
    vi.spyOn(SessionCache.prototype, "get").mockImplementation(function (this: SessionCache, key, plan) {
      runs.push(key.slice(0, key.indexOf("|")));
      return get.call(this, key, plan);
    });
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 40, decodeBatchSize: 1 });
    const { model } = await engine.open({ source, trainable: { type: "frozen" }, valueHead: false });
    const { sampler } = await engine.snapshot({ model });
    const stop = new AbortController();
    const samples: unknown[] = [];
    let steps = 0;
    let next: Promise<void> | undefined;
    const emit = (item: unknown): void => {
      if (!Array.isArray(item) || ++steps !== 3) return;
      stop.abort();
      const onItem = (answer: unknown): void => void samples.push(answer);
      const context = { signal: new AbortController().signal, emit: onItem };
      next = engine.sample({ sampler, requests: [requestOf(2, 3)], shared: true }, context);
    };
    const argument = { sampler, requests: [requestOf(1, 40)], shared: true, reportTokens: true };
    await expect(engine.sample(argument, { signal: stop.signal, emit })).rejects.toMatchObject({ name: "AbortError" });
    await next;
    expect(samples).toHaveLength(1);
    expect(runs).toEqual(["prefill", "decode", "decode", "prefill", "decode", "decode"]);
  });

  it("read one prefill at a time while rows are running, and not before each step", async () => {
    const runs: string[] = [];
    const get = SessionCache.prototype.get;
    vi.spyOn(SessionCache.prototype, "get").mockImplementation(function (this: SessionCache, key, plan) {
      runs.push(key.startsWith("prefill|") ? "prefill" : "decode");
      return get.call(this, key, plan);
    });
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 40, decodeBatchSize: 8 });
    const { model } = await engine.open({ source, trainable: { type: "frozen" }, valueHead: false });
    const { sampler } = await engine.snapshot({ model });
    const { signal } = new AbortController();
    const sample = (requests: readonly SampleRequest[], shared: boolean, onSampled = (): void => undefined) => {
      const emit = (item: unknown): void => (Array.isArray(item) ? onSampled() : undefined);
      return engine.sample({ sampler, requests, shared, reportTokens: true }, { signal, emit });
    };
    const prompts = [1, 2, 3, 4, 5].map((id) => ({ ...requestOf(id, 5), promptIds: Array(40).fill(id) }));
    const joined: Promise<void>[] = [];
    let reports = 0;
    await sample([requestOf(0, 30)], true, () => {
      if (++reports === 3) joined.push(sample(prompts, true));
    });
    await Promise.all(joined);
    // The first request has 30 tokens: one of its prefill and 29 steps.
    const steps = "decode,".repeat(4);
    expect(runs.join()).toMatch(
      new RegExp(`^prefill,${steps}prefill,${steps}prefill,${steps}prefill,${steps}prefill,`),
    );
    expect(runs.filter((run) => run === "prefill")).toHaveLength(6);
    runs.length = 0;
    await sample(prompts, false);
    expect(runs.slice(0, 5)).toEqual(Array(5).fill("prefill"));
  });

  it("do not fail if another one of their batch fails", async () => {
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 40, decodeBatchSize: 16 });
    const config = { ...tinyConfig, tie_word_embeddings: false };
    const { model } = await engine.open({ source: { ...source, config }, trainable: { type: "full" } });
    // Only prompts with the id 7 have results that are not finite.
    const random = createRandom(1);
    const data = Float32Array.from({ length: 263 * 32 }, (_, i) => (i >> 5 === 7 ? Number.NaN : random.next() - 0.5));
    await engine.setParameters({ model, parameters: [{ name: "model.embed_tokens.weight", shape: [263, 32], data }] });
    const { sampler } = await engine.snapshot({ model });
    const sample = async (requests: readonly SampleRequest[], shared: boolean, onSampled = (): void => undefined) => {
      const samples: Sample[] = [];
      const emit = (item: unknown): void => {
        if (Array.isArray(item)) onSampled();
        else if (typeof item !== "number") samples.push(item as Sample);
      };
      await engine.sample(
        { sampler, requests, shared, reportTokens: true },
        { signal: new AbortController().signal, emit },
      );
      return samples.toSorted((first, second) => first.request - second.request);
    };
    const fine = [1, 2, 3].map((id) => ({ ...requestOf(id, 20), promptIds: [id, id + 1] }));
    const broken = { ...requestOf(4, 20), promptIds: [7] };
    const expected = await sample(fine, false);
    const joined: Promise<PromiseSettledResult<Sample[]>[]>[] = [];
    const join = (...calls: Promise<Sample[]>[]): void => void joined.push(Promise.allSettled(calls));
    let steps = 0;
    let refusesPrefill = false;
    const get = SessionCache.prototype.get;
    vi.spyOn(SessionCache.prototype, "get").mockImplementation(function (this: SessionCache, key, plan) {
      if (!refusesPrefill || !key.startsWith("prefill|")) return get.call(this, key, plan);
      refusesPrefill = false;
      return Promise.reject(new Error("no memory"));
    });
    const samples = await sample(fine, true, () => {
      steps += 1;
      if (steps === 3) join(sample([broken, ...fine], true), sample(fine, true));
      if (steps !== 7) return;
      join(sample([requestOf(9, 3)], true));
      refusesPrefill = true;
    });
    expectAlike(samples, expected);
    const [notFinite, whole, refused] = (await Promise.all(joined)).flat();
    expect(notFinite).toMatchObject({ reason: { code: "backend.not-finite" } });
    expectAlike((whole as PromiseFulfilledResult<Sample[]>).value, expected);
    expect(refused).toMatchObject({ reason: { message: "no memory" } });
    expectAlike(await sample(fine, true), expected);
  });

  it("wait for other work that waits, which waits for them", async () => {
    await using opened = await openSampler();
    const { sampler, model } = opened;
    const ended: string[] = [];
    const running = (await startCall(sampler, [requestOf(1, 40)])).samples.then(() => ended.push("running"));
    const score = sampler.score!({ ids: [1, 2, 3] }).then(() => ended.push("score"));
    const later = sampleAll(sampler, [requestOf(2, 1)], { shared: true }).then(() => ended.push("later"));
    await Promise.all([running, score, later]);
    expect(ended).toEqual(["running", "score", "later"]);
    // Closing is such work.
    const last = (await startCall(sampler, [requestOf(1, 40)])).samples.then(() => ended.push("last"));
    await sampler.close().then(() => ended.push("closed"));
    await last;
    expect(ended.slice(3)).toEqual(["last", "closed"]);
    await model.close();
  });
});

describe("calls that are not shared", () => {
  it("are the same to the bit while shared ones run, and share no batch", async () => {
    await using opened = await openSampler(16);
    const { sampler } = opened;
    const requests = Array.from({ length: 9 }, (_, seed) => requestOf(seed, 20));
    const expected = await sampleAll(sampler, requests);
    const { samples: running } = await startCall(sampler, [requestOf(1, 40)]);
    const calls = [
      sampleAll(sampler, requests),
      sampleAll(sampler, [requestOf(3, 40)], { shared: true }),
      sampleAll(sampler, requests),
    ];
    const [first, , second] = await Promise.all(calls);
    expect(first).toEqual(expected);
    expect(second).toEqual(expected);
    await running;
  });
});

describe("many shared calls", () => {
  it("leave no memory, and never have more lanes than rows", async () => {
    const grids: { readonly lanes: number; readonly capacity: number }[] = [];
    const caches: WeakRef<KeyValueCache>[] = [];
    const layOut = KeyValueCache.prototype.layOut;
    const spy = vi.spyOn(KeyValueCache.prototype, "layOut");
    spy.mockImplementation(function (this: KeyValueCache, grid) {
      if (!caches.some((known) => known.deref() === this)) caches.push(new WeakRef(this));
      grids.push({ lanes: grid.from.length, capacity: grid.capacity });
      layOut.call(this, grid);
    });
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 40, decodeBatchSize: 4 });
    const { model } = await engine.open({ source, trainable: { type: "frozen" }, valueHead: false });
    const { sampler } = await engine.snapshot({ model });
    const contexts: WeakRef<object>[] = [];
    let begun = 0;
    // Each call starts the next one while it runs, so that the batch never ends.
    const chain = async (): Promise<void> => {
      begun += 1;
      if (begun > 300) return;
      let next: Promise<void> | undefined;
      const emit = (item: unknown): void => {
        if (Array.isArray(item)) next ??= chain();
      };
      const context = { signal: new AbortController().signal, emit };
      contexts.push(new WeakRef(context.signal));
      const requests = [requestOf(begun % 40, 2 + (begun % 9))];
      await engine.sample({ sampler, requests, shared: true, reportTokens: true }, context);
      await next;
    };
    await Promise.all([chain(), chain(), chain()]);
    expect(begun).toBeGreaterThan(300);
    expect(caches).toHaveLength(2);
    expect(Math.max(...grids.map(({ lanes }) => lanes))).toBeLessThanOrEqual(4);
    expect(Math.max(...grids.map(({ capacity }) => capacity))).toBeLessThanOrEqual(32);
    // The spy knows the caches.
    spy.mockClear();
    await collectGarbage();
    expect([...caches, ...contexts].filter((ref) => ref.deref() !== undefined)).toEqual([]);
  });
});

async function collectGarbage(): Promise<void> {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    runInNewContext("gc")();
  }
}
