/**
 * The tokens that had a nonzero probability when a token was sampled, after top-k, top-p and min-p: `null` for the
 * whole vocabulary, else a list of ascending ids or, if shorter, a bitmap of the vocabulary in base64. In the bitmap,
 * id i is bit i % 8 of byte i / 8, padded to a multiple of four bytes. A support of a vocabulary of V tokens needs at
 * most about V / 6 characters. It is plain JSON, so traces store it unchanged.
 */
export type TokenSupport = readonly number[] | string | null;

/** Returns the number of 32-bit words in a bitmap of a vocabulary. */
export function supportWords(vocabularySize: number): number {
  return Math.ceil(vocabularySize / 32);
}

/** Encodes distinct ids as a support, in the shorter form. */
export function encodeSupport(ids: ArrayLike<number>, vocabularySize: number): TokenSupport {
  if (ids.length === vocabularySize) return null;
  const words = supportWords(vocabularySize);
  if (ids.length < words) return Array.from(ids).sort((a, b) => a - b);
  const bitmap = Buffer.alloc(4 * words);
  for (let i = 0; i < ids.length; i++) bitmap[ids[i]! >> 3]! |= 1 << (ids[i]! & 7);
  return bitmap.toString("base64");
}

/**
 * Writes a support as a bitmap with one bit per token: id i is bit i % 32 of word i / 32. `words` has
 * {@link supportWords} elements.
 */
export function writeSupport(support: TokenSupport, words: Int32Array): void {
  if (support === null) {
    words.fill(-1);
    return;
  }
  words.fill(0);
  if (typeof support === "string") {
    const bytes = Buffer.from(support, "base64");
    for (let i = 0; i < words.length; i++) words[i] = bytes.readInt32LE(4 * i);
  } else {
    for (const id of support) words[id >> 5]! |= 1 << (id & 31);
  }
}

/** Returns why a support cannot belong to a sampled `id`. Undefined if it can. */
export function supportProblem(support: TokenSupport, id: number, vocabularySize: number): string | undefined {
  if (support === null) return undefined;
  if (typeof support === "string") return bitmapProblem(support, id, vocabularySize);
  if (!Array.isArray(support)) return "is neither ids nor a bitmap";
  for (let i = 0; i < support.length; i++) {
    const previous = i === 0 ? -1 : support[i - 1]!;
    if (!Number.isInteger(support[i]) || support[i]! <= previous) return "is not a list of ascending ids";
  }
  if ((support.at(-1) ?? 0) >= vocabularySize) {
    return `has the id ${support.at(-1)}, but the vocabulary has ${vocabularySize} ids`;
  }
  return support.includes(id) ? undefined : lacks(id);
}

function bitmapProblem(support: string, id: number, vocabularySize: number): string | undefined {
  const bytes = Buffer.from(support, "base64");
  const expected = 4 * supportWords(vocabularySize);
  if (bytes.length !== expected) {
    return `is a bitmap of ${bytes.length} bytes, but a vocabulary of ${vocabularySize} ids needs ${expected}`;
  }
  for (let bit = vocabularySize; bit < 8 * expected; bit++) {
    if (hasBit(bytes, bit)) return `has the id ${bit}, but the vocabulary has ${vocabularySize} ids`;
  }
  return hasBit(bytes, id) ? undefined : lacks(id);
}

function hasBit(bytes: Uint8Array, bit: number): boolean {
  return ((bytes[bit >> 3]! >> (bit & 7)) & 1) === 1;
}

function lacks(id: number): string {
  return `lacks the target ${id}`;
}
