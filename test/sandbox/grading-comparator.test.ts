import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Comparator, isAsExpected } from "../../sandbox/grading/comparator.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { toPlainValue } from "../../sandbox/plain-value-conversion.ts";
import { pythonValue } from "./plain-value-arbitraries.ts";

const python = (got: PlainValue, expected: PlainValue, comparator?: Comparator): boolean =>
  isAsExpected({ got, expected, language: "python", ...(comparator === undefined ? {} : { comparator }) });
const javascript = (got: unknown, expected: unknown, comparator: Comparator): boolean =>
  isAsExpected({
    got: toPlainValue(got, "javascript"),
    expected: toPlainValue(expected, "javascript"),
    language: "javascript",
    comparator,
  });
const float = (text: string): PlainValue => ({ float: text });
const int = (text: string): PlainValue => ({ int: text });

describe("every comparator", () => {
  const comparators: Comparator[] = [
    { kind: "exact" },
    { kind: "loose" },
    { kind: "strict" },
    { kind: "unordered" },
    { kind: "text" },
    { kind: "close", absolute: 0.1, relative: 0.1 },
    { kind: "close" },
  ];

  it("is symmetric, and never throws", () => {
    fc.assert(
      fc.property(pythonValue, pythonValue, fc.constantFrom(...comparators), (a, b, comparator) => {
        for (const language of ["python", "javascript"] as const) {
          const there = isAsExpected({ got: a, expected: b, language, comparator });
          expect(isAsExpected({ got: b, expected: a, language, comparator })).toBe(there);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("accepts equal values that have no nan and the right kind", () => {
    fc.assert(
      fc.property(pythonValue, (value) => {
        if (JSON.stringify(value).includes("nan")) return;
        for (const kind of ["exact", "strict", "loose"] as const) expect(python(value, value, { kind })).toBe(true);
        expect(python(value, value, { kind: "close" })).toBe(true);
        expect(python(value, value, { kind: "text" })).toBe(typeof value === "string");
      }),
    );
  });
});

describe("exact", () => {
  it("is the language's own equality", () => {
    expect(python(true, float("1.0"))).toBe(true);
    expect(python(float("nan"), float("nan"))).toBe(false);
    expect(javascript(Number.NaN, Number.NaN, { kind: "exact" })).toBe(true);
    expect(javascript(0, -0, { kind: "exact" })).toBe(false);
    expect(javascript("1", 1, { kind: "exact" })).toBe(false);
    expect(javascript("1", 1, { kind: "loose" })).toBe(true);
  });
});

describe("unordered", () => {
  const kind = "unordered";
  it("compares as multisets", () => {
    const list: PlainValue = { list: [int("1"), int("2"), int("2")] };
    expect(python({ list: [int("2"), float("1.0"), int("2")] }, list, { kind })).toBe(true);
    expect(python({ tuple: [int("2"), int("1"), int("2")] }, list, { kind })).toBe(true);
    expect(python({ list: [int("1"), int("1"), int("2")] }, list, { kind })).toBe(false);
    expect(python({ list: [int("1"), int("2")] }, list, { kind })).toBe(false);
    expect(python({ list: [float("nan")] }, { list: [float("nan")] }, { kind })).toBe(false);
    expect(python("122", list, { kind })).toBe(false);
    expect(javascript([[1], [2]], [[2], [1]], { kind })).toBe(true);
    expect(javascript([[1], [1]], [[2], [1]], { kind })).toBe(false);
  });
  it("respects the order within the items", () => {
    const pair = (a: string, b: string): PlainValue => ({ list: [a, b] });
    expect(python({ list: [pair("b", "a")] }, { list: [pair("a", "b")] }, { kind })).toBe(false);
  });
});

describe("close", () => {
  it("is math.isclose on numbers at any depth", () => {
    const near: Comparator = { kind: "close", absolute: 1e-6 };
    expect(python(float("1.0000001"), int("1"), near)).toBe(true);
    expect(python(float("1.00001"), int("1"), near)).toBe(false);
    expect(python({ list: [float("1.0000001")] }, { list: [true] }, near)).toBe(true);
    expect(python({ tuple: [float("1.0")] }, { list: [float("1.0")] }, near)).toBe(false);
    expect(python({ list: [float("1.0"), null] }, { list: [float("1.0")] }, near)).toBe(false);
    expect(
      python(
        {
          dict: [
            ["a", float("2.0000001")],
            ["b", "c"],
          ],
        },
        {
          dict: [
            ["b", "c"],
            ["a", int("2")],
          ],
        },
        near,
      ),
    ).toBe(true);
    expect(python({ dict: [["a", float("2.1")]] }, { dict: [["a", int("2")]] }, near)).toBe(false);
    expect(python("1", int("1"), near)).toBe(false);
    expect(python({ complex: ["1.0", "0.0"] }, int("1"), near)).toBe(false);
  });
  it("scales the relative tolerance by the larger number", () => {
    const tenth: Comparator = { kind: "close", relative: 0.1 };
    expect(python(int("90"), int("100"), tenth)).toBe(true);
    expect(python(int("111"), int("100"), tenth)).toBe(true);
    expect(python(int("112"), int("100"), tenth)).toBe(false);
    expect(python(int("0"), float("1e-300"), tenth)).toBe(false);
  });
  it("accepts an infinity only for itself, and never accepts nan", () => {
    const wide: Comparator = { kind: "close", absolute: 1e308, relative: 1 };
    expect(python(float("inf"), float("inf"), wide)).toBe(true);
    expect(python(float("inf"), float("-inf"), wide)).toBe(false);
    expect(python(float("inf"), float("1e308"), wide)).toBe(false);
    expect(python(float("nan"), float("nan"), wide)).toBe(false);
    expect(python(float("nan"), float("1.0"), wide)).toBe(false);
  });
});

describe("text", () => {
  it("ignores only white space at the ends", () => {
    const kind = "text";
    expect(python("a \r\nb\t\n\n", "a\nb", { kind })).toBe(true);
    expect(python("a\n\nb", "a\nb", { kind })).toBe(false);
    expect(python(" a", "a", { kind })).toBe(false);
    expect(python("a b", "a  b", { kind })).toBe(false);
    expect(python({ bytes: "YQ==" }, "a", { kind })).toBe(false);
  });
});

describe("truthy and falsy", () => {
  it.each<[PlainValue, boolean, boolean]>([
    [null, false, false],
    [true, true, true],
    ["", false, false],
    ["0", true, true],
    [int("0"), false, false],
    [int("-1"), true, true],
    [float("-0.0"), false, false],
    [float("nan"), true, false],
    [float("5e-324"), true, true],
    [{ list: [] }, false, true],
    [{ list: [null] }, true, true],
    [{ dict: [] }, false, true],
    [{ set: [] }, false, true],
    [{ tuple: [null] }, true, true],
    [{ bytes: "" }, false, true],
    [{ complex: ["0.0", "-0.0"] }, false, true],
    [{ complex: ["0.0", "1.0"] }, true, true],
    [{ undefined: true }, false, false],
  ])("treat %j as each language does", (got, inPython, inJavascript) => {
    for (const [language, truth] of [
      ["python", inPython],
      ["javascript", inJavascript],
    ] as const) {
      expect(isAsExpected({ got, expected: null, language, comparator: { kind: "truthy" } })).toBe(truth);
      expect(isAsExpected({ got, expected: null, language, comparator: { kind: "falsy" } })).toBe(!truth);
    }
  });
});

describe("custom", () => {
  it("calls the function", () => {
    const comparator: Comparator = { kind: "custom", compare: (got, expected) => got === "a" && expected === "b" };
    expect(python("a", "b", comparator)).toBe(true);
    expect(python("b", "a", comparator)).toBe(false);
  });
});
