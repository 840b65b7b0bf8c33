import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { Sample, SampledToken, SampleOptions, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { sharedSampler } from "../../../src/core/policy/shared-sampler.ts";

const request = (id: number): SampleRequest => {
  return { promptIds: [id], settings: { temperature: 1, maxTokens: 1 }, seed: 0, stopTokenIds: [] };
};

/** A sampler that repeats prompts. A call waits until its first id is released, and fails if that is 13. */
function echo(change: Partial<Sampler> = {}) {
  const gates = new Map<number, PromiseWithResolvers<void>>();
  const gateOf = (id: number): PromiseWithResolvers<void> => {
    const gate = gates.get(id) ?? Promise.withResolvers<void>();
    gates.set(id, gate);
    return gate;
  };
  const state = {
    options: [] as (SampleOptions | undefined)[],
    isClosed: false,
    release: (id: number): void => gateOf(id).resolve(),
    sampler: sharedSampler({
      specificationVersion: "v1",
      version: 3,
      sample: async function* (requests, options) {
        state.options.push(options);
        const [first] = requests[0]!.promptIds;
        const { signal } = options!;
        signal!.addEventListener("abort", () => gateOf(first!).reject(signal!.reason));
        await gateOf(first!).promise;
        if (first === 13) throw new Error("refused");
        options?.onSampled?.(requests.map(({ promptIds }, i) => ({ request: i, id: promptIds[0]!, logprob: 0 })));
        for (const [i, { promptIds }] of requests.entries()) {
          yield { request: i, ids: promptIds, logprobs: [0], finish: "stop" };
        }
      },
      close: async () => {
        state.isClosed = true;
      },
      ...change,
    }),
  };
  return state;
}

const idsOf = (samples: readonly Sample[]): number[] => samples.map(({ ids }) => ids[0]!);

/** Starts a call for each list of ids. */
const sampleAll = (sampler: Sampler, calls: readonly (readonly number[])[]): Promise<Sample[]>[] =>
  calls.map((ids) => Array.fromAsync(sampler.sample(ids.map(request))));

test("every call is shared, starts at once, and ends on its own", async () => {
  const { sampler, options, release } = echo();
  const calls = sampleAll(sampler, [[1, 2], [3]]);
  expect(options).toHaveLength(2);
  release(3);
  expect(idsOf(await calls[1]!)).toEqual([3]);
  release(1);
  expect(idsOf(await calls[0]!)).toEqual([1, 2]);
  expect(options.map((each) => each?.shared)).toEqual([true, true]);
});

test("a call that fails or is aborted does so alone", async () => {
  const { sampler, release } = echo();
  const stop = new AbortController();
  const calls = [...sampleAll(sampler, [[1], [13]]), Array.fromAsync(sampler.sample([request(2)], stop))];
  const settled = Promise.allSettled(calls);
  stop.abort(new Error("gone"));
  release(13);
  release(1);
  expect(await settled).toMatchObject([
    { status: "fulfilled" },
    { reason: { message: "refused" } },
    { reason: { message: "gone" } },
  ]);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  await sampler.close();
});

test("a call stops if nobody reads its samples", async () => {
  const { sampler, options, release } = echo();
  release(1);
  for await (const _ of sampler.sample([1, 2].map(request))) break;
  expect(options[0]!.signal!.aborted).toBe(true);
});

test("a call gets the tokens of its requests, if it asks for them", async () => {
  const { sampler, release } = echo();
  const tokens: (readonly SampledToken[])[] = [];
  const call = Array.fromAsync(sampler.sample([request(3)], { onSampled: (each) => void tokens.push(each) }));
  release(3);
  await call;
  expect(tokens).toEqual([[{ request: 0, id: 3, logprob: 0 }]]);
});

test("closing waits for the running calls and scores, and for those that begin at the same time", async () => {
  const scored = Promise.withResolvers<never>();
  const state = echo({ score: () => scored.promise });
  const { sampler, release } = state;
  const [running] = sampleAll(sampler, [[1]]);
  const score = sampler.score!({ ids: [1] });
  const closing = sampler.close();
  const [late] = sampleAll(sampler, [[2]]);
  const after = async (): Promise<boolean> => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return state.isClosed;
  };
  expect(await after()).toBe(false);
  release(1);
  expect(await after()).toBe(false);
  release(2);
  expect(await after()).toBe(false);
  scored.reject(new Error("no score"));
  await expect(score).rejects.toThrow("no score");
  await closing;
  expect(state.isClosed).toBe(true);
  expect(idsOf([...(await running!), ...(await late!)])).toEqual([1, 2]);
});

test("closing does not wait for a reader", async () => {
  const { sampler, release } = echo();
  const call = sampler.sample([1, 2].map(request))[Symbol.asyncIterator]();
  release(1);
  expect((await call.next()).value.ids).toEqual([1]);
  await sampler.close();
  expect((await call.next()).value.ids).toEqual([2]);
});
