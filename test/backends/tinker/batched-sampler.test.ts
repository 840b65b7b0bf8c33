import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Sample, SampledToken, SampleOptions, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { batchedSampler } from "../../../trainers/tinker/service/batched-sampler.ts";

const request = (id: number): SampleRequest => {
  return { promptIds: [id], settings: { temperature: 1, maxTokens: 1 }, seed: 0, stopTokenIds: [] };
};

/** A sampler that repeats the prompt, last request first. It refuses the id 13, and fails when it comes to the id 14. */
function echo(): { readonly sampler: Sampler; readonly batches: number[]; release: () => void; closed: boolean } {
  let gate = Promise.resolve();
  const state = {
    batches: [] as number[],
    closed: false,
    release: (): void => {},
    /** Batches wait for `release`. */
    block: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      state.release = resolve;
    },
    sampler: {
      specificationVersion: "v1",
      version: 3,
      sample: async function* (requests, { signal, onSampled } = {}) {
        signal?.throwIfAborted();
        if (requests.some(({ promptIds }) => promptIds[0] === 13)) throw new Error("refused");
        state.batches.push(requests.length);
        await gate;
        onSampled?.(requests.map(({ promptIds }, i) => ({ request: i, id: promptIds[0]!, logprob: 0 })));
        for (let i = requests.length - 1; i >= 0; i--) {
          signal?.throwIfAborted();
          if (requests[i]!.promptIds[0] === 14) throw new Error("failed");
          yield { request: i, ids: requests[i]!.promptIds, logprobs: [0], finish: "stop" };
        }
      },
      close: async () => {
        state.closed = true;
      },
    } satisfies Sampler as Sampler,
  };
  state.block();
  return state;
}

const idsOf = (samples: readonly Sample[]): number[] =>
  samples.toSorted((a, b) => a.request - b.request).map(({ ids }) => ids[0]!);

test("calls that arrive together are one call, and later ones are another that may join its batch", async () => {
  const state = echo();
  const options: (SampleOptions | undefined)[] = [];
  const sampler = batchedSampler({
    ...state.sampler,
    sample: (requests, given) => {
      options.push(given);
      return state.sampler.sample(requests, given);
    },
  });
  const first = [[1, 2], [3]].map((ids) => Array.fromAsync(sampler.sample(ids.map(request))));
  await expect.poll(() => state.batches).toEqual([3]);
  const later = [4, 5].map((id) => Array.fromAsync(sampler.sample([request(id)])));
  await expect.poll(() => state.batches).toEqual([3, 2]);
  expect(options.map((given) => given?.shared)).toEqual([true, true]);
  state.release();
  expect((await Promise.all([...first, ...later])).map(idsOf)).toEqual([[1, 2], [3], [4], [5]]);
});

test("calls that keep arriving do not keep the first one waiting", async () => {
  const state = echo();
  const sampler = batchedSampler(state.sampler);
  const calls: Promise<Sample[]>[] = [];
  while (state.batches.length === 0) {
    calls.push(Array.fromAsync(sampler.sample([request(1)])));
    await sleep(1);
  }
  expect(state.batches[0]).toBeLessThanOrEqual(calls.length);
  state.release();
  await Promise.all(calls);
});

test("a call that is refused fails alone", async () => {
  const state = echo();
  state.release();
  const sampler = batchedSampler(state.sampler);
  const calls = [1, 13, 2].map((id) => Array.fromAsync(sampler.sample([request(id)])));
  const results = await Promise.allSettled(calls);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("a call that fails a running batch fails alone", async () => {
  const state = echo();
  state.release();
  const sampler = batchedSampler(state.sampler);
  const calls = [[1], [14], [2, 14], [3]].map((ids) => Array.fromAsync(sampler.sample(ids.map(request))));
  const results = await Promise.allSettled(calls);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  expect(state.batches[0]).toBe(5);
});

test("a call that is aborted before it is sampled alone is not sampled", async () => {
  const state = echo();
  const sampler = batchedSampler(state.sampler);
  const stop = new AbortController();
  const [first, refused] = [1, 13].map((id) => Array.fromAsync(sampler.sample([request(id)])));
  const aborted = Array.fromAsync(sampler.sample([request(2)], { signal: stop.signal }));
  const settled = Promise.allSettled([first, refused, aborted]);
  await expect.poll(() => state.batches).toEqual([1]);
  stop.abort(new Error("gone"));
  state.release();
  expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  await sampler.close();
  expect(state.batches).toEqual([1]);
});

test("an aborted call ends at once, and the others of its batch continue", async () => {
  const state = echo();
  const sampler = batchedSampler(state.sampler);
  const stop = new AbortController();
  const aborted = Array.fromAsync(sampler.sample([request(1)], { signal: stop.signal }));
  const kept = Array.fromAsync(sampler.sample([request(2)]));
  await expect.poll(() => state.batches).toEqual([2]);
  stop.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  state.release();
  expect(idsOf(await kept)).toEqual([2]);
});

test("the requests of an aborted call are stopped alone", async () => {
  const state = echo();
  const given: (readonly AbortSignal[])[] = [];
  const sampler = batchedSampler({
    ...state.sampler,
    sample: (requests, options) => {
      given.push(options!.signals!);
      return state.sampler.sample(requests, options);
    },
  });
  const stop = new AbortController();
  const aborted = Array.fromAsync(sampler.sample([1, 2].map(request), { signal: stop.signal })).catch(() => []);
  const kept = Array.fromAsync(sampler.sample([request(3)]));
  await expect.poll(() => state.batches).toEqual([3]);
  stop.abort();
  expect(given.map((signals) => signals.map((signal) => signal.aborted))).toEqual([[true, true, false]]);
  state.release();
  await Promise.all([aborted, kept]);
});

test("a batch ends if all of its calls are aborted", async () => {
  const state = echo();
  const sampler = batchedSampler(state.sampler);
  const stop = new AbortController();
  const aborted = Array.fromAsync(sampler.sample([request(1)], { signal: stop.signal }));
  await expect.poll(() => state.batches).toEqual([1]);
  stop.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  state.release();
  expect(idsOf(await Array.fromAsync(sampler.sample([request(2)])))).toEqual([2]);
});

test("closing waits for the running calls and scores, and for calls that begin at the same time", async () => {
  const state = echo();
  const scored = Promise.withResolvers<never>();
  const sampler = batchedSampler({ ...state.sampler, score: () => scored.promise });
  const call = Array.fromAsync(sampler.sample([request(1)]));
  await expect.poll(() => state.batches).toEqual([1]);
  const score = sampler.score!({ ids: [1] });
  const closing = sampler.close();
  const late = Array.fromAsync(sampler.sample([request(2)]));
  await sleep(20);
  expect(state.closed).toBe(false);
  state.release();
  expect([...(await call), ...(await late)].map(({ ids }) => ids[0])).toEqual([1, 2]);
  await sleep(20);
  expect(state.closed).toBe(false);
  scored.reject(new Error("no score"));
  await expect(score).rejects.toThrow("no score");
  await closing;
  expect(state.closed).toBe(true);
});

test("closing does not wait for a reader", async () => {
  const state = echo();
  state.release();
  const sampler = batchedSampler(state.sampler);
  const call = sampler.sample([1, 2].map(request))[Symbol.asyncIterator]();
  expect((await call.next()).value.ids).toEqual([2]);
  await sampler.close();
  expect((await call.next()).value.ids).toEqual([1]);
});

test("each call gets the tokens of its own requests, if it asks for them", async () => {
  const state = echo();
  const sampler = batchedSampler(state.sampler);
  const tokens: (readonly SampledToken[])[] = [];
  const onSampled = (each: readonly SampledToken[]): void => void tokens.push(each);
  const calls = [
    Array.fromAsync(sampler.sample([1, 2].map(request))),
    Array.fromAsync(sampler.sample([3, 4].map(request), { onSampled })),
  ];
  state.release();
  expect((await Promise.all(calls)).map(idsOf)).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(tokens).toEqual([
    [
      { request: 0, id: 3, logprob: 0 },
      { request: 1, id: 4, logprob: 0 },
    ],
  ]);
});

test("a call whose tokens were reported is not sampled again", async () => {
  const state = echo();
  const sampler = batchedSampler(state.sampler);
  const tokens: number[] = [];
  const onSampled = (each: readonly SampledToken[]): void => void tokens.push(...each.map(({ id }) => id));
  const calls = [
    Array.fromAsync(sampler.sample([1].map(request))),
    Array.fromAsync(sampler.sample([3].map(request), { onSampled })),
    Array.fromAsync(sampler.sample([14].map(request))),
  ];
  state.release();
  const settled = await Promise.allSettled(calls);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(tokens).toEqual([3]);
});
