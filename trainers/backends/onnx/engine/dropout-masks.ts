import { deriveSeed } from "../../../../src/core/random/random.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import { adapterInputs } from "../models/lora.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import type { Feed } from "./session.ts";

/**
 * True if a pass over these terms drops inputs of adapters: if all of them are cross-entropies. Every other loss
 * compares log-probabilities with those of the sampler or a reference, which were computed without dropout.
 */
export function usesDropout(terms: readonly LossTerm[]): boolean {
  return terms.length > 0 && terms.every(({ type }) => type === "crossEntropy");
}

/**
 * A seed for each sequence of a call: of the adapter's seed, the optimizer step, the tokens, and how often these
 * tokens came before in the step, which `seen` counts. So the masks do not depend on how a batch is cut.
 */
export function dropoutSeeds(
  data: readonly Datum[],
  { seed, step, seen }: { readonly seed: number; readonly step: number; readonly seen: Map<string, number> },
): number[] {
  return data.map(({ tokens }) => {
    const key = tokens.join();
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    return deriveSeed(seed, "dropout", step, key, times);
  });
}

/**
 * The feeds of the masks that a training graph with dropout reads: a bit for each token and each input of each adapter,
 * 0 with probability `rate`.
 */
export function dropoutFeeds(options: {
  /** The block of the adapters. */
  readonly block: ParameterBlock;
  readonly rate: number;
  /** In the order of the batch. */
  readonly sequences: readonly { readonly tokens: number; readonly seed: number }[];
}): Record<string, Feed> {
  const { block, rate, sequences } = options;
  const tokens = sequences.reduce((sum, sequence) => sum + sequence.tokens, 0);
  const threshold = rate * 2 ** 32;
  return Object.fromEntries(
    adapterInputs(block.specs).map(({ name, inputs }) => {
      const width = Math.ceil(inputs / 32);
      const words = new Int32Array(tokens * width);
      let place = 0;
      for (const sequence of sequences) {
        const length = sequence.tokens * width;
        fillBits(words.subarray(place, place + length), deriveSeed(sequence.seed, name), threshold);
        place += length;
      }
      return [name, { data: words, shape: [tokens, width] }];
    }),
  );
}

/** Sets each bit whose hash, of its place and the seed, from 0 to 2^32 - 1, reaches the threshold. */
function fillBits(words: Int32Array, seed: number, threshold: number): void {
  const low = seed | 0;
  const high = (seed / 2 ** 32) | 0;
  for (let i = 0; i < words.length; i++) {
    let word = 0;
    for (let bit = 0; bit < 32; bit++) {
      if (mix(mix((32 * i + bit) ^ low) + high) >>> 0 >= threshold) word |= 1 << bit;
    }
    words[i] = word;
  }
}

/** An invertible mix of 32 bits (Wellons 2018, https://github.com/skeeto/hash-prospector). */
function mix(value: number): number {
  let x = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return x ^ (x >>> 15);
}
