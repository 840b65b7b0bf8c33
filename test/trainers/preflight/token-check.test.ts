import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { RecordedSample } from "../../../trainers/preflight/recorded-sampler.ts";
import { checkTokens } from "../../../trainers/preflight/token-check.ts";

const ids = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 });

/** A conversation: prompts and completions in turn, as one datum with the samples of its completions. */
const conversation = fc.array(fc.tuple(ids, ids), { minLength: 1, maxLength: 4 }).map((turns) => {
  const tokens: number[] = [];
  const mask: number[] = [];
  const samples: RecordedSample[] = [];
  for (const [prompt, completion] of turns) {
    tokens.push(...prompt);
    mask.push(...prompt.map(() => 0));
    samples.push(recorded([...tokens], completion));
    tokens.push(...completion);
    mask.push(...completion.map(() => 1));
  }
  return { datum: datumFromIds({ ids: tokens, mask }), samples };
});

function recorded(promptIds: readonly number[], completion: readonly number[]): RecordedSample {
  return {
    request: { promptIds, settings: defaultSampling, seed: 0, stopTokenIds: [] },
    sample: { request: 0, ids: completion, logprobs: completion.map(() => -1), finish: "stop" },
  };
}

const statuses = (data: readonly Datum[], samples: readonly RecordedSample[]) =>
  checkTokens(data, samples).map(({ name, status }) => `${name} ${status}`);

describe("checkTokens", () => {
  it("passes for data that are made of the samples, in any order", () => {
    fc.assert(
      fc.property(fc.array(conversation, { minLength: 1, maxLength: 3 }), (all) => {
        const samples = all.flatMap((one) => one.samples).toReversed();
        const data = all.map(({ datum }) => datum);
        expect(statuses(data, samples)).toEqual(["sampled-ids passed", "mask passed"]);
      }),
    );
  });

  it("finds a mask that is shifted, empty, or covers a prompt", () => {
    fc.assert(
      fc.property(conversation, ({ datum, samples }) => {
        const wrong = [
          Float32Array.from([...datum.lossMask.slice(1), 0]),
          datum.lossMask.map(() => 0),
          datum.lossMask.map(() => 1),
        ].filter((mask) => mask.some((value, index) => value !== datum.lossMask[index]));
        for (const lossMask of wrong) {
          expect(statuses([{ ...datum, lossMask }], samples)).toEqual(["sampled-ids passed", "mask failed"]);
        }
      }),
    );
  });

  it("finds ids that are not the sampled ones", () => {
    fc.assert(
      fc.property(conversation, fc.nat(), ({ datum, samples }, place) => {
        const sampled = [...datum.lossMask.keys()].filter((index) => datum.lossMask[index] !== 0);
        const changed = sampled[place % sampled.length]!;
        const other = (id: number, index: number): number => (index === changed ? id + 1 : id);
        const tokens = datum.tokens.map((id, index) => other(id, index - 1));
        const found = statuses([{ ...datum, tokens, targets: datum.targets.map(other) }], samples);
        expect(found[0]).toBe("sampled-ids failed");
      }),
    );
  });
});
