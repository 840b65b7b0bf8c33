/**
 * Returns the printable character of each byte in byte-level vocabularies. A printable Latin-1 byte maps to itself. The
 * other 68 bytes map to the code points from U+0100 in byte order (Radford et al. 2019, GPT-2).
 */
export function byteLevelCharacters(): string[] {
  let next = 0x100;
  return Array.from({ length: 0x100 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCodePoint(printable ? byte : next++);
  });
}
