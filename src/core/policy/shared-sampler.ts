import { setImmediate } from "node:timers/promises";
import type { Sample, Sampler } from "../../contract/sampler.ts";
import { EventQueue } from "../rollout/event-queue.ts";

/**
 * Wraps a sampler for servers, whose clients send one prompt per request. Its calls share a batch if the sampler supports
 * that. `close` waits for the running calls and scores, but not for those who read the samples.
 */
export function sharedSampler(sampler: Sampler): Sampler {
  const running = new Set<Promise<unknown>>();
  const track = <T>(call: Promise<T>): Promise<T> => {
    running.add(call);
    return call.finally(() => running.delete(call));
  };
  const score: NonNullable<Sampler["score"]> = (...call) => track(sampler.score!(...call));
  return {
    specificationVersion: "v1",
    version: sampler.version,
    ...(sampler.score === undefined ? {} : { score }),
    sample: async function* (requests, { signal: given, ...options } = {}) {
      const stop = new AbortController();
      const signal = given === undefined ? stop.signal : AbortSignal.any([given, stop.signal]);
      const samples = new EventQueue<Sample>(Infinity);
      const read = async (): Promise<void> => {
        const call = sampler.sample(requests, { ...options, signal, shared: true });
        for await (const sample of call) samples.push(sample);
      };
      void track(read()).then(
        () => samples.end(),
        (error) => samples.end(error),
      );
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
