import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Sample, SampledToken, SampleOptions, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { EventQueue } from "../../../src/core/rollout/event-queue.ts";

/** A call of `sample` that waits for its batch, or runs in it. */
interface Call {
  readonly requests: readonly SampleRequest[];
  readonly samples: EventQueue<Sample>;
  readonly signal: AbortSignal;
  readonly onSampled: SampleOptions["onSampled"];
}

/** Calls are one batch if no pause between them is longer than this, in milliseconds. */
const pauseMs = 2;
/** The longest time in milliseconds that a call waits for other calls. */
const longestWaitMs = 10;

/**
 * Wraps a sampler so that calls that arrive together are sampled as one call. Later calls join the running batch if the
 * sampler supports that. Use it in servers whose clients send one prompt per request. The other calls of a batch, and the
 * prompts of earlier ones, change the log-probabilities of a call by rounding only. An aborted call leaves its batch if the sampler can stop single requests. A batch ends early if all of
 * its calls are aborted. Scores are not batched. `close` waits for the running calls and scores.
 */
export function batchedSampler(sampler: Sampler): Sampler {
  let waiting: Call[] = [];
  let isGathering = false;
  const running = new Set<Promise<unknown>>();
  const track = <T>(call: Promise<T>): Promise<T> => {
    running.add(call);
    return call.finally(() => running.delete(call));
  };
  const score: NonNullable<Sampler["score"]> = (...call) => track(sampler.score!(...call));
  const gatherAndSample = async (): Promise<void> => {
    isGathering = true;
    const begun = performance.now();
    for (let count = 0; waiting.length > count && performance.now() - begun < longestWaitMs; ) {
      count = waiting.length;
      await sleep(pauseMs);
    }
    const calls = waiting.filter(({ signal }) => !signal.aborted);
    waiting = [];
    isGathering = false;
    await sampleTogether(sampler, calls);
  };
  return {
    specificationVersion: "v1",
    version: sampler.version,
    ...(sampler.score === undefined ? {} : { score }),
    sample: async function* (requests: readonly SampleRequest[], { signal: given, onSampled }: SampleOptions = {}) {
      given?.throwIfAborted();
      const stop = new AbortController();
      const signal = given === undefined ? stop.signal : AbortSignal.any([given, stop.signal]);
      const samples = new EventQueue<Sample>(Infinity);
      signal.addEventListener("abort", () => samples.end(signal.reason), { once: true });
      waiting.push({ requests, samples, signal, onSampled });
      if (!isGathering) void track(gatherAndSample());
      try {
        yield* samples;
      } finally {
        stop.abort();
      }
    },
    close: async () => {
      // A caller that has just received the sampler begins its call first.
      await setImmediate();
      await Promise.allSettled(running);
      await sampler.close();
    },
  };
}

/**
 * Samples the requests of all calls as one batch. Never rejects: an error goes to each call that has a sample or a
 * reported token already. The other calls are then sampled alone, so that an invalid call fails alone.
 */
async function sampleTogether(sampler: Sampler, calls: readonly Call[]): Promise<void> {
  if (calls.length === 0) return;
  const places = calls.flatMap((call) => call.requests.map((_, request) => ({ call, request })));
  const abandoned = new AbortController();
  const onAbort = (): void => {
    if (calls.every(({ signal }) => signal.aborted)) abandoned.abort();
  };
  for (const { signal } of calls) signal.addEventListener("abort", onAbort, { once: true });
  // A call may have been aborted before the listener was added.
  onAbort();
  const left = new Map(calls.map((call) => [call, call.requests.length]));
  const reported = new Set<Call>();
  const onSampled = (tokens: readonly SampledToken[]): void => {
    const byCall = Map.groupBy(tokens, ({ request }) => places[request]!.call);
    for (const [call, own] of byCall) {
      if (call.onSampled === undefined || call.signal.aborted) continue;
      reported.add(call);
      call.onSampled(own.map((token) => ({ ...token, request: places[token.request]!.request })));
    }
  };
  const signals = places.map(({ call }) => call.signal);
  const reports = calls.some((call) => call.onSampled !== undefined) ? { onSampled } : {};
  try {
    const requests = calls.flatMap((call) => call.requests);
    const options = { signal: abandoned.signal, signals, shared: true, ...reports };
    for await (const sample of sampler.sample(requests, options)) {
      const { call, request } = places[sample.request]!;
      call.samples.push({ ...sample, request });
      const rest = left.get(call)! - 1;
      left.set(call, rest);
      if (rest === 0) call.samples.end();
    }
    for (const { samples } of calls) samples.end();
  } catch (error) {
    const isFinal = calls.length === 1 || abandoned.signal.aborted;
    const again = isFinal ? [] : calls.filter((call) => left.get(call) === call.requests.length && !reported.has(call));
    for (const call of calls) if (!again.includes(call)) call.samples.end(error);
    for (const call of again) await sampleTogether(sampler, [call]);
  } finally {
    for (const { signal } of calls) signal.removeEventListener("abort", onAbort);
  }
}
