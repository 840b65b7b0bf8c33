import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/core/taskset/canonical-json.ts";
import { contentHash } from "../../../src/core/taskset/content-hash.ts";

/** Returns the same value with the keys of every object in reverse order of insertion. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("canonical JSON is JSON of the same value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(plain(value));
    }),
  );
});

test("the order in which keys were added changes nothing", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
    }),
  );
});

test("texts are equal exactly if values are equal", () => {
  const small = fc.object({ key: fc.constantFrom("a", "b", "1"), values: [fc.constantFrom(0, 1, "1", null, "a,b")] });
  fc.assert(
    fc.property(small, small, (first, second) => {
      expect(canonicalJson(first) === canonicalJson(second)).toBe(isDeepStrictEqual(plain(first), plain(second)));
    }),
    { numRuns: 1000 },
  );
});

test.each([
  [{ b: 1, a: [true, null, "x"] }, '{"a":[true,null,"x"],"b":1}'],
  [{ a: undefined, b: { c: undefined } }, '{"b":{}}'],
  [[1.0, -0, 1e21, 0.1, 1e-7], "[1,0,1e+21,0.1,1e-7]"],
  [{ when: new Date(0) }, '{"when":"1970-01-01T00:00:00.000Z"}'],
  ["\u{1f600}\ud800", '"\u{1f600}\\ud800"'],
  [{ "": 1, 10: 2, 9: 3, é: 4, z: 5 }, '{"":1,"10":2,"9":3,"z":5,"é":4}'],
])("writes %o", (value, text) => expect(canonicalJson(value)).toBe(text));

const cycle: { self?: unknown } = {};
cycle.self = { again: cycle };

test.each([
  ["NaN", { a: [Number.NaN] }, "$.a[0]"],
  ["infinity", Number.POSITIVE_INFINITY, "$"],
  ["undefined itself", undefined, "$"],
  ["undefined in a list", [1, undefined], "$[1]"],
  ["a hole in a list", new Array(2), "$[0]"],
  ["a bigint", { n: 1n }, "$.n"],
  ["a function", { f: () => 1 }, "$.f"],
  ["a symbol", { s: Symbol("s") }, "$.s"],
  ["a map", { m: new Map([[1, 2]]) }, "$.m"],
  ["a set", new Set([1]), "$"],
  ["bytes", { b: new Uint8Array(2) }, "$.b"],
  ["a cycle", cycle, "$.self.again"],
])("refuses %s and names where it is", (_name, value, path) => {
  expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: "data.malformed", data: { path } }));
});

test("the same object twice, without a cycle, is fine", () => {
  const shared = { x: 1 };
  expect(canonicalJson([shared, shared])).toBe('[{"x":1},{"x":1}]');
});

test("a key named __proto__ counts", () => {
  expect(contentHash(JSON.parse('{"__proto__":1}'))).not.toBe(contentHash({}));
});

test("the hash is SHA-256 of the UTF-8 bytes", () => {
  expect(contentHash({ b: "é", a: 1 })).toBe(createHash("sha256").update('{"a":1,"b":"é"}', "utf8").digest("hex"));
});
