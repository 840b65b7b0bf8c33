let state = 0;

/** Sets what {@link fillRandom} gives next: a job's random bytes depend on its seed and nothing else. */
export function seedRandomBytes(seed: number): void {
  state = seed >>> 0;
}

/** Fills an array with reproducible bytes, in place of the machine's source. Not for secrets. */
export function fillRandom<T extends Uint8Array>(bytes: T): T {
  for (let i = 0; i < bytes.length; i++) {
    // Weyl sequence through a 32-bit mixer (splitmix32).
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    bytes[i] = mixed ^ (mixed >>> 15);
  }
  return bytes;
}
