let state = 0;

/** Sets the seed of {@link fillRandom}. The random bytes of a job depend on its seed only. */
export function seedRandomBytes(seed: number): void {
  state = seed >>> 0;
}

/** Fills an array with reproducible bytes. It replaces the machine's source of randomness. Not for secrets. */
export function fillRandom<T extends Uint8Array>(bytes: T): T {
  for (let i = 0; i < bytes.length; i++) {
    // Weyl sequence with a 32-bit mixer (splitmix32).
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    bytes[i] = mixed ^ (mixed >>> 15);
  }
  return bytes;
}
