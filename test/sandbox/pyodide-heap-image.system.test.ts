import fc from "fast-check";
import { expect, test } from "vitest";
import { HeapImage, writeDifferences } from "../../sandbox/pyodide/child/heap-image.ts";

const pageBytes = 65_536;
const pages = 4;
/** Offsets, biased towards the edges of blocks and pages. */
const place = fc.oneof(
  fc.nat(pages * pageBytes - 1),
  fc.constantFrom(0, 16_383, 16_384, pageBytes - 1, pageBytes, 2 * pageBytes - 1, pages * pageBytes - 1),
);
const writes = fc.array(fc.tuple(place, fc.integer({ min: 0, max: 255 })), { maxLength: 20 });

function write(bytes: Uint8Array, all: readonly (readonly [number, number])[]): void {
  for (const [at, byte] of all) bytes[at] = byte;
}

test("a memory is restored after any number of arbitrary writes", () => {
  fc.assert(
    fc.property(writes, fc.array(writes, { minLength: 1, maxLength: 4 }), (before, jobs) => {
      const memory = new Uint8Array(pages * pageBytes);
      write(memory, before);
      const expected = memory.slice();
      const image = new HeapImage(memory);
      for (const job of jobs) {
        write(memory, job);
        image.restore(memory);
        expect(Buffer.compare(memory, expected)).toBe(0);
      }
    }),
    { numRuns: 50 },
  );
});

test("a memory that has grown is restored too, and the added part becomes zero", () => {
  fc.assert(
    fc.property(writes, writes, writes, (before, first, second) => {
      const memory = new Uint8Array(pages * pageBytes);
      write(memory, before);
      const expected = Buffer.concat([memory, Buffer.alloc(pageBytes)]);
      const image = new HeapImage(memory);
      const grown = new Uint8Array((pages + 1) * pageBytes);
      grown.set(memory);
      for (const job of [first, second]) {
        write(grown, job);
        grown.fill(7, pages * pageBytes);
        image.restore(grown);
        expect(Buffer.compare(grown, expected)).toBe(0);
      }
    }),
    { numRuns: 30 },
  );
});

test("all differing bytes are written, from any source and at any offset", () => {
  fc.assert(
    fc.property(writes, writes, fc.nat(20_000), (before, after, offset) => {
      const memory = new Int8Array(pages * pageBytes + 20_000);
      const bytes = new Uint8Array(memory.buffer);
      write(bytes, before);
      const source = new Uint8Array(pages * pageBytes);
      write(source, after);
      const expected = memory.slice();
      expected.set(source, offset);
      writeDifferences.call(memory, source, offset);
      expect(Buffer.compare(bytes, new Uint8Array(expected.buffer))).toBe(0);
      // The source is the same memory, and the parts overlap.
      expected.set(new Uint8Array(expected.buffer, 0, 50_000), 10_000);
      writeDifferences.call(memory, bytes.subarray(0, 50_000), 10_000);
      expect(Buffer.compare(bytes, new Uint8Array(expected.buffer))).toBe(0);
      expected.set([1, -2, 3], 5);
      writeDifferences.call(memory, [1, -2, 3], 5);
      expect(Buffer.compare(bytes, new Uint8Array(expected.buffer))).toBe(0);
    }),
    { numRuns: 30 },
  );
});
