import { expect } from "vitest";
import type { Sampler } from "../../src/contract/sampler.ts";
import type { Datum } from "../../trainers/backend/datum.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { changedBackend } from "./changed-backend.ts";

/** What the check has seen. */
export interface SampledAndTrained {
  /** The number of sampled tokens, and of tokens with a loss. */
  sampled: number;
  trained: number;
}

/**
 * A backend that checks each datum of a loss against what its sampler read and sampled: every run of tokens with a loss
 * is a sampled completion after exactly its prompt, with its log-probabilities.
 */
export function checkedBackend(backend: TrainingBackend): {
  readonly backend: TrainingBackend;
  readonly seen: SampledAndTrained;
} {
  const seen: SampledAndTrained = { sampled: 0, trained: 0 };
  /** The log-probabilities of completions, by prompt and completion. */
  const sampled = new Map<string, string[]>();
  const keyOf = (prompt: ArrayLike<number>, ids: ArrayLike<number>): string =>
    `${Array.from(prompt).join()}|${Array.from(ids).join()}`;
  const check = (datum: Datum): void => {
    const ids = [...datum.tokens, datum.targets.at(-1)!];
    for (const { from, to } of lossRuns(datum)) {
      const logprobs = sampled.get(keyOf(ids.slice(0, from), ids.slice(from, to)));
      expect(logprobs, `the tokens ${from} to ${to} were not sampled after what precedes them`).toBeDefined();
      // The same completion can be sampled twice. Its log-probabilities then differ by rounding.
      expect(logprobs).toContain(datum.behaviourLogprobs!.subarray(from - 1, to - 1).join());
      seen.trained += to - from;
    }
  };
  const checked = changedBackend(
    (model) => ({
      forwardBackward: (data, terms, options) => {
        if (data.some(({ advantages }) => advantages !== undefined)) data.forEach(check);
        return model.forwardBackward(data, terms, options);
      },
      snapshot: async (): Promise<Sampler> => {
        const sampler = await model.snapshot();
        return {
          specificationVersion: "v1",
          version: sampler.version,
          sample: async function* (requests, options) {
            for await (const sample of sampler.sample(requests, options)) {
              const key = keyOf(requests[sample.request]!.promptIds, sample.ids);
              sampled.set(key, [...(sampled.get(key) ?? []), Float32Array.from(sample.logprobs).join()]);
              seen.sampled += sample.ids.length;
              yield sample;
            }
          },
          close: () => sampler.close(),
        };
      },
    }),
    backend,
  );
  return { backend: checked, seen };
}

/** The runs of tokens with a loss, as places in the whole list of ids. Sampled completions never touch each other. */
function lossRuns({ lossMask }: Datum): { readonly from: number; readonly to: number }[] {
  const runs: { from: number; to: number }[] = [];
  for (const [t, weight] of lossMask.entries()) {
    if (weight === 0) continue;
    const last = runs.at(-1);
    if (last?.to === t + 1) last.to += 1;
    else runs.push({ from: t + 1, to: t + 2 });
  }
  return runs;
}
