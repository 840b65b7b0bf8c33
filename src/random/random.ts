/** A stream of random numbers that depends on nothing but its seed. */
export interface Random {
  /** A number in [0, 1) with 53 random bits. */
  next(): number;
  /** An integer in [minimum, maximum], both included. */
  integer(minimum: number, maximum: number): number;
  /** One of the items, each equally likely. Throws RangeError on an empty list. */
  pick<T>(items: readonly T[]): T;
  /** A new array of the items in random order (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** A normally distributed number with mean 0 and standard deviation 1 (Box-Muller). */
  normal(): number;
}

/** The streams of two different seeds are unrelated; equal seeds give equal streams (xoshiro128**, 32-bit). */
export function createRandom(seed: number): Random {
  const state = new Uint32Array(4);
  const mixer = splitMix32(foldSeed(seed));
  for (let i = 0; i < 4; i++) state[i] = mixer();
  const nextUint32 = (): number => xoshiro128(state);
  const next = (): number => {
    const high = nextUint32() >>> 5;
    const low = nextUint32() >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  };
  const integer = (minimum: number, maximum: number): number => minimum + Math.floor(next() * (maximum - minimum + 1));
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
 * A seed for one purpose, from a root seed and the names or numbers that single the purpose out, such as
 * `deriveSeed(seed, taskHash, member, agent, turn)`. The result is an integer in [0, 2^53).
 */
export function deriveSeed(seed: number, ...key: readonly (string | number)[]): number {
  let low = foldSeed(seed) ^ 0x9e3779b9;
  let high = foldSeed(seed) ^ 0x85ebca6b;
  const mix = (word: number): void => {
    low = Math.imul(low ^ word, 0x2c1b3c6d);
    low = Math.imul(low ^ (low >>> 15), 0x297a2d39);
    high = Math.imul(high ^ word ^ (low >>> 13), 0x9e3779b1);
    high ^= high >>> 16;
  };
  for (const part of key) {
    if (typeof part === "number") {
      mix(1);
      mix(foldSeed(part));
    } else {
      mix(2);
      for (let i = 0; i < part.length; i++) mix(part.charCodeAt(i) + 3);
    }
  }
  mix(key.length);
  const mixer = splitMix32(low ^ Math.imul(high, 0x85ebca6b));
  return (mixer() >>> 11) * 4_294_967_296 + ((mixer() ^ high) >>> 0);
}

/** A number (any finite one) folded to 32 bits, distinct for nearby integers and fractions. */
function foldSeed(seed: number): number {
  if (!Number.isFinite(seed)) throw new RangeError(`A seed must be a finite number, got ${seed}.`);
  if (Number.isInteger(seed) && Math.abs(seed) < 4_294_967_296) return (seed | 0) ^ (seed < 0 ? 0x5bd1e995 : 0);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, seed);
  return Math.imul(view.getUint32(0), 0x9e3779b1) ^ view.getUint32(4);
}

/** Seeds a larger generator: the finalizer of SplitMix over a Weyl sequence. */
function splitMix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}

/** One step of xoshiro128** (Blackman and Vigna, 2018). */
function xoshiro128(state: Uint32Array): number {
  const [a, b, c, d] = state as unknown as [number, number, number, number];
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
