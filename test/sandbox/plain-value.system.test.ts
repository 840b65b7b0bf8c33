import { deepEqual as assertDeepEqual, deepStrictEqual as assertDeepStrictEqual } from "node:assert";
import { runInThisContext } from "node:vm";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { isPlainValue } from "../../sandbox/plain-value-check.ts";
import { plainFloat, readFloat, toPlainValue } from "../../sandbox/plain-value-conversion.ts";
import { deepEqual } from "../../sandbox/plain-value-deep-equality.ts";
import { pythonEqual } from "../../sandbox/plain-value-equality.ts";
import { showPlainValue } from "../../sandbox/plain-value-text.ts";
import { javascriptValue, pythonValue } from "./plain-value-arbitraries.ts";
import { type PythonOracle, startPythonOracle } from "./python-oracle.ts";

const unlimited = { maxLength: 1e9 };

describe("in Python", () => {
  let python: PythonOracle;
  beforeAll(async () => {
    python = await startPythonOracle();
  });

  it("values are shown as source that evaluates to the same value", () => {
    const values = fc.sample(pythonValue, { numRuns: 2_000, seed: 1 });
    const sources = values.map((value) => showPlainValue(value, { language: "python", ...unlimited }));
    const back = python.ask<PlainValue[]>("def answer(sources): return [encode(eval(s)) for s in sources]", sources);
    const normal = python.ask<PlainValue[]>("def answer(trees): return [encode(decode(t)) for t in trees]", values);
    for (const [i, value] of back.entries()) {
      expect(isPlainValue(value, 60)).toBe(true);
      if (!deepEqual(value, normal[i]!, { loose: false }))
        expect.fail(`${sources[i]} reads back as ${JSON.stringify(value)}`);
    }
  });

  it("== is Python's ==", () => {
    const pairs: (readonly [PlainValue, PlainValue])[] = [
      ...fc.sample(fc.tuple(pythonValue, pythonValue), { numRuns: 3_000, seed: 2 }),
      ...fc
        .sample(pythonValue, { numRuns: 1_000, seed: 3 })
        .flatMap((value) => disguises(value).map((other) => [value, other] as const)),
    ];
    const decodes = "def answer(pairs): return [decode(a) == decode(b) for a, b in pairs]";
    // As Python stores them, without duplicate keys.
    const recode = "def answer(pairs): return [[encode(decode(x)) for x in p] for p in pairs]";
    const held = python.ask<[PlainValue, PlainValue][]>(recode, pairs);
    const answers = python.ask<boolean[]>(decodes, pairs);
    let equal = 0;
    for (const [i, [a, b]] of held.entries()) {
      if (answers[i]) equal++;
      if (pythonEqual(a, b) !== answers[i]) expect.fail(`${JSON.stringify(a)} == ${JSON.stringify(b)}: ${answers[i]}`);
    }
    expect(equal).toBeGreaterThan(500);
    expect(equal).toBeLessThan(held.length - 500);
  });
});

describe("in JavaScript", () => {
  it("equality is that of node:assert, strict and loose", () => {
    const check = (a: unknown, b: unknown): void => {
      const [x, y] = [toPlainValue(a, "javascript"), toPlainValue(b, "javascript")];
      expect(deepEqual(x, y, { loose: false })).toBe(holds(() => assertDeepStrictEqual(a, b)));
      // In Node 24, an item null of the expected array equals any primitive. We do not copy that.
      const nodeErrs = showPlainValue(y, { language: "javascript", ...unlimited }).includes("null");
      if (!nodeErrs) expect(deepEqual(x, y, { loose: true })).toBe(holds(() => assertDeepEqual(a, b)));
    };
    fc.assert(fc.property(javascriptValue, javascriptValue, check), { numRuns: 2_000 });
    fc.assert(
      fc.property(javascriptValue, (value) => check(value, structuredClone(value))),
      { numRuns: 500 },
    );
    const primitives = [
      null,
      undefined,
      true,
      false,
      0,
      -0,
      1,
      Number.NaN,
      0n,
      1n,
      "",
      "0",
      "1",
      " 1 ",
      "a",
      [],
      {},
      [1],
    ];
    for (const a of primitives) {
      for (const b of primitives) {
        check(a, b);
        check([a], [b]);
        check({ a }, { a: b });
        check({ a }, { b });
      }
    }
  });

  it("values are shown as source that evaluates to the same value", () => {
    fc.assert(
      fc.property(javascriptValue, (value) => {
        const plain = toPlainValue(value, "javascript");
        const source = showPlainValue(plain, { language: "javascript", ...unlimited });
        assertDeepStrictEqual(runInThisContext(`(${source})`), value);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("strict equality", () => {
  it("distinguishes types, and nothing else", () => {
    const kinds = [
      null,
      true,
      { int: "1" },
      { float: "1.0" },
      "1",
      { bytes: "MQ==" },
      { complex: ["1", "0"] },
    ] as const;
    for (const [i, a] of kinds.entries()) {
      for (const [j, b] of kinds.entries()) expect(deepEqual(a, b, { loose: false })).toBe(i === j);
    }
    expect(deepEqual({ float: "nan" }, { float: "nan" }, { loose: false })).toBe(true);
    expect(deepEqual({ float: "-0.0" }, { float: "0.0" }, { loose: false })).toBe(false);
    expect(deepEqual({ float: "1e3" }, { float: "1000.0" }, { loose: false })).toBe(true);
    expect(deepEqual({ set: ["a", "b"] }, { set: ["b", "a"] }, { loose: false })).toBe(true);
    expect(deepEqual({ set: ["a"] }, { frozenset: ["a"] }, { loose: false })).toBe(false);
    expect(deepEqual({ list: ["a"] }, { tuple: ["a"] }, { loose: false })).toBe(false);
  });

  it("does not confuse neighbouring items", () => {
    expect(deepEqual({ list: ["a", "b"] }, { list: ["a,b"] }, { loose: false })).toBe(false);
    expect(deepEqual({ list: ["s1:b"] }, { list: ["s", "b"] }, { loose: false })).toBe(false);
    expect(pythonEqual({ list: [{ list: ["x"] }, "y"] }, { list: [{ list: ["x", "y"] }] })).toBe(false);
    expect(pythonEqual({ dict: [["a", "b"]] }, { dict: [["ab", ""]] })).toBe(false);
  });
});

describe("conversion", () => {
  it("keeps every number", () => {
    fc.assert(
      fc.property(fc.double(), (number) => {
        const { float } = plainFloat(number) as { readonly float: string };
        expect(readFloat(float)).toBe(number);
        expect(isPlainValue({ float }, 0)).toBe(true);
      }),
    );
  });

  it("gives Python ints for whole numbers of JavaScript", () => {
    expect(toPlainValue([1, 1.5, -0, 2 ** 60, undefined], "python")).toEqual({
      list: [{ int: "1" }, { float: "1.5" }, { float: "-0.0" }, { float: "1152921504606847000" }, null],
    });
    expect(toPlainValue([1, undefined], "javascript")).toEqual({ list: [{ float: "1" }, { undefined: true }] });
  });

  it("rejects data that is not plain, with its path", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const refused = [() => 1, Symbol("s"), new Date(), /x/, cycle, new (class A {})(), Promise.resolve()];
    for (const value of refused) {
      expect(() => toPlainValue({ a: [value] }, "python")).toThrowError(
        expect.objectContaining({ code: "data.malformed" }),
      );
    }
    expect(() => toPlainValue({ a: [/x/] }, "python")).toThrow("$.a[0]");
  });
});

describe("showing", () => {
  it("never shows more than requested, nor half a character", () => {
    fc.assert(
      fc.property(pythonValue, fc.integer({ min: 1, max: 60 }), fc.constantFrom("python", "javascript"), (v, n, l) => {
        const text = showPlainValue(v, { language: l as "python", maxLength: n });
        expect(text.length).toBeLessThanOrEqual(n);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
  });

  it("does not process what it does not show", () => {
    const huge: PlainValue[] = new Array(1e9);
    huge[0] = "x".repeat(1e8);
    expect(showPlainValue({ list: huge }, { language: "python" })).toHaveLength(200);
    expect(showPlainValue({ list: huge }, { language: "javascript" })).toHaveLength(200);
  });
});

describe("isPlainValue", () => {
  it("accepts the results of the conversion, to the depth they need", () => {
    fc.assert(fc.property(pythonValue, (value) => isPlainValue(value, 10)));
    expect(isPlainValue({ list: [{ tuple: [] }] }, 2)).toBe(true);
    expect(isPlainValue({ list: [{ tuple: [] }] }, 1)).toBe(false);
    expect(isPlainValue({ dict: [[{ tuple: [] }, null]] }, 1)).toBe(false);
  });

  it("rejects all other JSON", () => {
    const others = [
      1,
      [],
      {},
      undefined,
      { int: 1 },
      { int: "" },
      { int: "1.0" },
      { int: "1n" },
      { int: "0x1" },
      { float: "0x1" },
      { float: "Infinity" },
      { float: "-nan" },
      { float: "" },
      { float: "1_0" },
      { complex: ["1"] },
      { complex: "12" },
      { complex: ["1", "2", "3"] },
      { bytes: "a" },
      { bytes: "a===" },
      { list: {} },
      { list: [1] },
      { dict: {} },
      { dict: [["a"]] },
      { dict: [["a", null, null]] },
      { dict: ["ab"] },
      { undefined: false },
      { int: "1", float: "1" },
      { object: [] },
      { list: [{ int: "x" }] },
      { __proto__: null },
      { int: "1\n" },
    ];
    for (const value of others) expect(isPlainValue(value, 60), JSON.stringify(value)).toBe(false);
  });
});

/** Values that Python may or may not consider equal to this one. */
function disguises(value: PlainValue): PlainValue[] {
  if (typeof value === "boolean") return [{ int: value ? "1" : "0" }, { float: value ? "1.0" : "-0.0" }];
  if (value === null || typeof value === "string") return [value];
  if ("int" in value) return [plainFloat(Number(value.int)), { complex: [value.int, "0.0"] }];
  if ("list" in value) return [{ list: value.list.map((item) => disguises(item)[0]!) }, { tuple: value.list }];
  if ("tuple" in value) return [{ tuple: value.tuple.map((item) => disguises(item)[0]!) }, { list: value.tuple }];
  if ("set" in value) return [{ frozenset: value.set.toReversed() }];
  if ("frozenset" in value) {
    const reversed = value.frozenset.toReversed();
    return [{ frozenset: reversed.map((item) => disguises(item)[0]!) }, { set: reversed }];
  }
  if ("dict" in value) return [{ dict: value.dict.toReversed() }];
  if ("float" in value) return [value, { complex: [value.float, "0.0"] }];
  return [value];
}

function holds(assertion: () => void): boolean {
  try {
    assertion();
    return true;
  } catch {
    return false;
  }
}
