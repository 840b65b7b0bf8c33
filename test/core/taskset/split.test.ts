import fc from "fast-check";
import { expect, test } from "vitest";
import { formatSplit, parseSplit, type Split } from "../../../src/core/taskset/split.ts";

test.each<[string, Split]>([
  ["train", { name: "train" }],
  ["test.v2-hard", { name: "test.v2-hard" }],
  ["train[:200]", { name: "train", slice: { to: { value: 200, unit: "tasks" } } }],
  [
    "train[100:200]",
    { name: "train", slice: { from: { value: 100, unit: "tasks" }, to: { value: 200, unit: "tasks" } } },
  ],
  ["train[-50:]", { name: "train", slice: { from: { value: -50, unit: "tasks" } } }],
  ["train[:10%]", { name: "train", slice: { to: { value: 10, unit: "percent" } } }],
  [
    "train[-25%:-5]",
    { name: "train", slice: { from: { value: -25, unit: "percent" }, to: { value: -5, unit: "tasks" } } },
  ],
  ["train[:]", { name: "train", slice: {} }],
])("reads %s", (text, split) => expect(parseSplit(text)).toEqual(split));

test.each([
  ["", 0],
  ["[:3]", 0],
  [" train", 0],
  ["train ", 5],
  ["train+test", 5],
  ["train[", 6],
  ["train[5]", 7],
  ["train[1:2", 9],
  ["train[1:2]]", 10],
  ["train[1:2:3]", 9],
  ["train[a:2]", 6],
  ["train[1.5:2]", 7],
  ["train[--1:]", 6],
  ["train[:101%]", 7],
  ["train[-101%:]", 6],
  ["train[:99999999999999999999]", 7],
  ["train[:５]", 7],
])("refuses %j at position %i", (text, position) => {
  expect(() => parseSplit(text)).toThrow(
    expect.objectContaining({ code: "config.invalid", data: { split: text, position } }),
  );
});

test("an error shows the problem and the correct form", () => {
  expect(() => parseSplit("train[5]")).toThrow(/found "\]" at position 7/);
  expect(() => parseSplit("train[")).toThrow(expect.objectContaining({ hint: expect.stringContaining("train[:200]") }));
});

test("formatted splits can be parsed again", () => {
  const bound = fc.oneof(
    fc.record({ value: fc.integer(), unit: fc.constant("tasks" as const) }),
    fc.record({ value: fc.integer({ min: -100, max: 100 }), unit: fc.constant("percent" as const) }),
  );
  const slice = fc.record({ from: bound, to: bound }, { requiredKeys: [] });
  const split = fc.record({ name: fc.constantFrom("train", "test", "a_b-c.d"), slice }, { requiredKeys: ["name"] });
  fc.assert(
    fc.property(split, (value) => {
      expect(parseSplit(formatSplit(value))).toEqual(value);
    }),
  );
});

test("any text is either parsed or refused with a typed error", () => {
  const text = fc.string({ unit: fc.constantFrom("t", "[", "]", ":", "%", "-", "1", "0", " ") });
  fc.assert(
    fc.property(text, (value) => {
      try {
        expect(formatSplit(parseSplit(value)).length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toMatchObject({ code: "config.invalid" });
      }
    }),
  );
});
