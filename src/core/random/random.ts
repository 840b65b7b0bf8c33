/**
 * A stream of random numbers that depends only on its seed.
 *
 * @example
 * import { createRandom, type Random } from "lyceum";
 * const deal = (random: Random): string[] => random.shuffle(["king", "queen", "jack"]).slice(0, 2);
 * deal(createRandom(1)).length; // => 2
 */
export interface Random {
  /** Returns a number in [0, 1) with 53 random bits. */
  next(): number;
  /** Returns an integer in [minimum, maximum], both included. */
  integer(minimum: number, maximum: number): number;
  /** Returns one of the items, with equal probability. Throws a RangeError for an empty list. */
  pick<T>(items: readonly T[]): T;
  /** Returns a new array of the items in random order (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** Returns a sample of the standard normal distribution (Box-Muller). */
  normal(): number;
}

/**
 * Creates a stream from any finite seed. Equal seeds give equal streams. Different seeds give unrelated streams. Uses
 * xoshiro128** (Blackman and Vigna 2018, https://arxiv.org/abs/1805.01407) with a state that is filled from all 64 bits
 * of the seed.
 *
 * @example
 * import { createRandom } from "lyceum";
 * const dice = (seed: number): number => createRandom(seed).integer(1, 6);
 * dice(7) === dice(7); // => true
 */
export function createRandom(seed: number): Random {
  const state = initialState(seed);
  const nextUint32 = (): number => xoshiro128(state);
  const next = (): number => {
    const high = nextUint32() >>> 5;
    const low = nextUint32() >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  };
  const integer = (minimum: number, maximum: number): number => {
    const count = maximum - minimum + 1;
    if (!(Number.isSafeInteger(minimum) && Number.isSafeInteger(maximum) && count >= 1 && count <= 2 ** 53)) {
      throw new RangeError(`The range from ${minimum} to ${maximum} contains no integers or too many.`);
    }
    return minimum + Math.floor(next() * count);
  };
  return {
    next,
    integer,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("Cannot pick from an empty list.");
      return items[integer(0, items.length - 1)]!;
    },
    shuffle: (items) => {
      const shuffled = [...items];
      for (let i = shuffled.length - 1; i > 0; i--) {
        const j = integer(0, i);
        [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
      }
      return shuffled;
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}

/**
 * Derives a seed from a root seed and a key of names or numbers that identifies its purpose, such as `deriveSeed(seed,
 * taskHash, sampleIndex, agent, turn)`. Returns an integer in [0, 2^53).
 */
export function deriveSeed(seed: number, ...key: readonly (string | number)[]): number {
  let low = 0;
  let high = 0;
  // Invertible for each word, so that different states stay different.
  const mix = (word: number): void => {
    low = mix32(low ^ word);
    high = mix32((high ^ low) + 0x9e3779b9);
  };
  const mixNumber = (value: number): void => {
    const words = seedWords(value);
    mix(words.kind);
    mix(words.low);
    mix(words.high);
  };
  mixNumber(seed);
  for (const part of key) {
    if (typeof part === "number") {
      mixNumber(part);
    } else {
      mix(wordKinds.string);
      mix(part.length);
      for (let i = 0; i < part.length; i += 2) mix(part.charCodeAt(i) | (part.charCodeAt(i + 1) << 16));
    }
  }
  mix(wordKinds.end);
  mix(key.length);
  return (low >>> 11) * 4_294_967_296 + (high >>> 0);
}

const wordKinds = { integer: 1, fraction: 2, string: 3, end: 4 } as const;

interface SeedWords {
  readonly kind: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns all bits of a finite number: an integer as 64 bits, any other number as its floating-point bits. 0 and -0 are
 * the same seed.
 */
function seedWords(seed: number): SeedWords {
  if (Number.isSafeInteger(seed)) {
    return { kind: wordKinds.integer, low: seed | 0, high: Math.floor(seed / 4_294_967_296) };
  }
  if (!Number.isFinite(seed)) throw new RangeError(`A seed must be a finite number, but it is ${seed}.`);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, seed);
  return { kind: wordKinds.fraction, low: view.getInt32(4), high: view.getInt32(0) };
}

/**
 * Different seeds give different states: each round is invertible, and the third word contains the kind of the seed.
 */
function initialState(seed: number): Uint32Array {
  let { kind, low, high } = seedWords(seed);
  for (let round = 0; round < 3; round++) {
    low = mix32((low ^ high) + 0x9e3779b9);
    high = mix32((high ^ low) + 0x85ebca6b);
  }
  const third = mix32(low + kind);
  // A state of zeros would never change.
  return Uint32Array.of(low, high, third, mix32(high ^ third) | 1);
}

/**
 * A bijection of 32-bit words that spreads every bit over all bits (murmur-style, with constants of Wellons' hash
 * prospector).
 */
function mix32(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}

/** One step of xoshiro128**. */
function xoshiro128(state: Uint32Array): number {
  const [a, b, c, d] = [state[0]!, state[1]!, state[2]!, state[3]!];
  const product = Math.imul(b, 5);
  const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
  const third = c ^ a;
  const fourth = d ^ b;
  state[1] = b ^ third;
  state[0] = a ^ fourth;
  state[2] = third ^ (b << 9);
  state[3] = (fourth << 11) | (fourth >>> 21);
  return result;
}
