import { deriveSeed } from "../../../../src/core/random/random.ts";
import type { Datum } from "../../../backend/datum.ts";
import type { LossTerm } from "../../../backend/loss-term.ts";
import { adapterInputs } from "../../../model-folders/architecture/lora-layers.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import type { Feed } from "./session.ts";

/**
 * True if a pass over these terms applies dropout to the inputs of adapters: if all terms are cross-entropies. All
 * other losses compare log-probabilities with those of the sampler or a reference, which are computed without dropout.
 */
export function usesDropout(terms: readonly LossTerm[]): boolean {
  return terms.length > 0 && terms.every(({ type }) => type === "crossEntropy");
}

/**
 * Derives a seed for each sequence of a call from the adapter's seed, the optimizer step, the tokens and the number of
 * earlier occurrences of the same tokens in the step. `seen` counts these. So the masks do not depend on how a batch is
 * split.
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
 * Returns the mask inputs of a training graph with dropout: one bit for each token and each input of each adapter. A
 * bit is 0 with probability `rate`.
 */
export function dropoutFeeds(options: {
  /** The parameter block of the adapters. */
  readonly block: ParameterBlock;
  readonly rate: number;
  /** In batch order. */
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

/**
 * Sets each bit whose hash reaches the threshold. The hash is from 0 to 2^32 - 1 and depends on the bit's index and the
 * seed.
 */
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

/** An invertible 32-bit mixing function (Wellons 2018, https://github.com/skeeto/hash-prospector). */
function mix(value: number): number {
  let x = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return x ^ (x >>> 15);
}
