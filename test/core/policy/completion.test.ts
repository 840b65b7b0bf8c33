import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Sample, SampleRequest, SamplingSettings } from "../../../src/contract/sampler.ts";
import { Completion } from "../../../src/core/policy/completion.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";

const bytes = createByteTokenizer();

/** Token ids that are words, some with several characters and some with half a character. */
const words: readonly (readonly number[])[] = ["a", "b", "ab", "END\n", "\n", " ", "é", "日本"]
  .map((word) => bytes.encode(word))
  .concat([[0xe6], [0x97], [0xa5], [0xf0, 0x9f], [0x98, 0x80]]);
const wordTokenizer: Tokenizer = {
  ...bytes,
  vocabularySize: words.length,
  decode: (ids) => bytes.decode(ids.flatMap((id) => words[id]!)),
};

/** Feeds tokens to a completion until it ends. Returns the rest. */
function complete(options: {
  readonly ids: readonly number[];
  readonly settings?: Partial<SamplingSettings>;
  readonly stopTokenIds?: readonly number[];
  readonly tokenizer?: Tokenizer;
  readonly maxLength?: number;
}): Sample | undefined {
  const { ids, settings, stopTokenIds = [], tokenizer = wordTokenizer, maxLength = 1000 } = options;
  const request: SampleRequest = {
    promptIds: [0, 0, 0],
    settings: { temperature: 1, maxTokens: 1000, ...settings },
    seed: 1,
    stopTokenIds,
  };
  const completion = new Completion({ request, index: 4, tokenizer, maxLength });
  for (const id of ids) {
    const certain = new Float32Array(300);
    certain[id] = 1;
    const sample = completion.advance(certain);
    if (sample !== undefined) return sample;
    expect(completion.lastId).toBe(id);
  }
  return undefined;
}

describe("a completion", () => {
  it("ends at a stop token, which it keeps", () => {
    expect(complete({ ids: [0, 1, 2, 3], stopTokenIds: [9, 2] })).toEqual({
      request: 4,
      ids: [0, 1, 2],
      logprobs: [0, 0, 0],
      finish: "stop",
    });
  });

  it("with values of states ends with the value of the state after its last token", () => {
    const certain = Float32Array.of(0, 1);
    const request = { promptIds: [0], settings: { temperature: 1, maxTokens: 2 }, seed: 1, stopTokenIds: [] };
    const completion = new Completion({ request, index: 0, tokenizer: undefined, maxLength: 10 });
    expect(completion.advance(certain, 0.5)).toBeUndefined();
    expect(completion.advance(certain, 0)).toBeUndefined();
    // Only the value is used: no third token is sampled.
    expect(completion.advance(Float32Array.of(Number.NaN, 0), -2)).toEqual({
      request: 0,
      ids: [1, 1],
      logprobs: [0, 0],
      values: [0.5, 0, -2],
      finish: "length",
    });
  });

  it("ends after maxTokens, or when the model's context is full", () => {
    expect(complete({ ids: [0, 0, 0], settings: { maxTokens: 2 } })).toMatchObject({ ids: [0, 0], finish: "length" });
    expect(complete({ ids: [0], settings: { maxTokens: 1 } })).toMatchObject({ ids: [0], finish: "length" });
    expect(complete({ ids: [0, 0, 0], maxLength: 5 })).toMatchObject({ ids: [0, 0], finish: "length" });
    expect(complete({ ids: [0, 0, 0], settings: { maxTokens: 4 } })).toBeUndefined();
  });

  it('finishes with "stop" if its last possible token is a stop token', () => {
    const settings = { maxTokens: 2 };
    expect(complete({ ids: [0, 1], stopTokenIds: [1], settings })).toMatchObject({ finish: "stop" });
    expect(complete({ ids: [0, 1], settings: { ...settings, stop: ["b"] } })).toMatchObject({ finish: "stop" });
  });

  it("ends where its text first contains a stop sequence, however tokens split the characters", () => {
    const texts = fc.array(fc.nat(words.length - 1), { minLength: 1, maxLength: 30 });
    const places = fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 5 })), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(texts, places, fc.boolean(), (ids, places, misses) => {
        const characters = [...wordTokenizer.decode(ids)];
        const stop = places
          .map(([start, length]) =>
            characters
              .slice(start % characters.length)
              .slice(0, length)
              .join(""),
          )
          .concat(misses ? ["zz"] : [])
          .filter((text) => text !== "" && !text.includes("\uFFFD"));
        const textAfter = (count: number): string => wordTokenizer.decode(ids.slice(0, count));
        const end = ids.findIndex((_, i) => stop.some((text) => textAfter(i + 1).includes(text)));
        const sample = complete({ ids, settings: { stop } });
        if (end === -1) {
          expect(sample).toBeUndefined();
          return;
        }
        expect(sample).toMatchObject({ ids: ids.slice(0, end + 1), finish: "stop" });
        const text = textAfter(end + 1);
        const first = Math.min(...stop.map((text) => textAfter(end + 1).indexOf(text)).filter((at) => at !== -1));
        expect(text.indexOf(sample!.stopString!)).toBe(first);
      }),
      { numRuns: 500 },
    );
  });

  it("is cut at the stop sequence that begins first if one token completes several", () => {
    const end = 3;
    for (const stop of [
      ["\n", "END"],
      ["END", "\n"],
    ]) {
      expect(complete({ ids: [0, end], settings: { stop } })).toMatchObject({ stopString: "END" });
    }
  });

  it("finds a stop sequence in a character of three tokens, and none in its parts", () => {
    const [first, second, third] = [8, 9, 10] as const;
    expect(complete({ ids: [0, first, second, third, 0], settings: { stop: ["日"] } })).toMatchObject({
      ids: [0, first, second, third],
      stopString: "日",
    });
    expect(complete({ ids: [first, second], settings: { stop: ["\uFFFD"] } })).toBeUndefined();
  });

  it("finds the text of special tokens", () => {
    const ids = bytes.encode("hello<|eot|>more");
    const sample = complete({ ids, tokenizer: bytes, settings: { stop: ["<|eot|>"] } });
    expect(bytes.decode(sample!.ids)).toBe("hello<|eot|>");
  });

  it("depends only on its own seed", () => {
    const sampled = (seed: number): number[] => {
      const request: SampleRequest = {
        promptIds: [0],
        settings: { temperature: 1, maxTokens: 20 },
        seed,
        stopTokenIds: [],
      };
      const completion = new Completion({ request, index: 0, tokenizer: undefined, maxLength: 100 });
      const even = new Float32Array(50).fill(0.02);
      let sample: Sample | undefined;
      while (sample === undefined) sample = completion.advance(even);
      return [...sample.ids];
    };
    expect(sampled(1)).toEqual(sampled(1));
    expect(sampled(2)).not.toEqual(sampled(1));
    expect(new Set(sampled(3)).size).toBeGreaterThan(5);
  });
});
