import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameReader, frame } from "../../sandbox/pool/frames.ts";
import { readReport } from "../../sandbox/zygote/reports.ts";

const nonce = "0123456789abcdef0123456789abcdef";
const options = { nonce, indices: [4, 7], depth: 3 };
const line = (name: number | string, message: unknown, key = nonce): string =>
  `${key} ${name} 1.500 ${JSON.stringify(message)}\n`;
const returned = { outcome: "returned", value: { int: "1" } };
const end = line("end", {});
const honest = line("loaded", {}) + line(4, returned) + line(7, returned) + end;

describe("a report", () => {
  test("is parsed with its cases and its end if it is honest", () => {
    expect(readReport(honest, options)).toEqual({
      cases: [
        { index: 4, ...returned, cpuMs: 1.5 },
        { index: 7, ...returned, cpuMs: 1.5 },
      ],
      loaded: true,
      ended: true,
      outOfMemory: false,
      tooLarge: false,
      broken: false,
    });
  });

  test.each<[string, string]>([
    ["another nonce", line(4, returned, nonce.replace("0", "1"))],
    ["a case twice", line(4, returned) + line(4, returned)],
    ["cases out of order", line(7, returned) + line(4, returned)],
    ["a case of another process", line(5, returned)],
    ["a case too many", line(4, returned) + line(7, returned) + line(8, returned)],
    ["an end before the cases", line(4, returned) + end],
    ["something after the end", honest + line(4, returned)],
    ["the end twice", honest + end],
    ["a load error after a case", line(4, returned) + line("load", { error: { type: "E", message: "" } })],
    ["a case after a load error", line("load", { error: { type: "E", message: "" } }) + line(4, returned)],
    ["a load error after it was loaded", line("loaded", {}) + line("load", { error: { type: "E", message: "" } })],
    ["that it was loaded twice", line("loaded", {}) + line("loaded", {})],
    ["that it was loaded after a case", line(4, returned) + line("loaded", {})],
    ["a load error that is none", line("load", { error: 1 })],
    ["no JSON", `${nonce} 4 1.000 {"outcome":\n`],
    ["an empty line", `\n${honest}`],
    ["a value that is none", line(4, { outcome: "returned", value: { int: "1", float: "1" } })],
    ["a bare number", line(4, { outcome: "returned", value: 1 })],
    ["a number with other characters", line(4, { outcome: "returned", value: { int: "1e9" } })],
    [
      "a value nested too deep",
      line(4, { outcome: "returned", value: { list: [{ list: [{ list: [{ list: [] }] }] }] } }),
    ],
    ["an unknown outcome", line(4, { outcome: "passed" })],
    ["a missing case", line(4, { outcome: "missing" })],
    ["an error without a type", line(4, { outcome: "raised", error: { message: "" } })],
    ["changed arguments that are none", line(4, { ...returned, changedArgs: [1] })],
    ["deep JSON", `${nonce} 4 1.000 {"outcome":${"[".repeat(100_000)}\n`],
  ])("with %s is broken", (_, text) => {
    expect(readReport(text, options).broken).toBe(true);
  });

  test("is broken by unknown fields", () => {
    const { cases, broken } = readReport(line(4, { ...returned, passed: true }), options);
    expect(cases).toEqual([]);
    expect(broken).toBe(true);
  });

  test("is not a violation if it is truncated, at any position", () => {
    fc.assert(
      fc.property(fc.nat(honest.length), (length) => {
        const report = readReport(honest.slice(0, length), options);
        const lines = honest.slice(0, length).split("\n").length - 1;
        expect(report.broken).toBe(false);
        expect(report.cases).toHaveLength(Math.min(2, Math.max(0, lines - 1)));
        expect(report.ended).toBe(lines === 4);
      }),
    );
  });

  test("never throws for any text, and has no case without the nonce", () => {
    const part = fc.oneof(
      fc.string(),
      fc.constantFrom(nonce, " ", "\n", "4", "end", "{}", " 1.000 ", JSON.stringify(returned)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        const report = readReport(text, options);
        if (!text.includes(nonce)) expect(report.cases).toEqual([]);
      }),
    );
  });
});

describe("frames", () => {
  test("are decoded as they were encoded, however the stream is split", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.array(fc.integer({ min: 1, max: 20 })), (messages, cuts) => {
        const stream = Buffer.concat(messages.map((message) => frame(message)));
        const reader = new FrameReader(1 << 20);
        const read: unknown[] = [];
        for (let place = 0, i = 0; place < stream.length; i++) {
          const size = cuts[i % Math.max(1, cuts.length)] ?? stream.length;
          read.push(...reader.push(stream.subarray(place, place + size)).map((text) => JSON.parse(text)));
          place += size;
        }
        expect(read).toEqual(messages.map((message) => JSON.parse(JSON.stringify(message))));
      }),
    );
  });

  test("throw if they are too long, before they are complete", () => {
    expect(() => new FrameReader(10).push(frame("x".repeat(20)).subarray(0, 4))).toThrow(RangeError);
  });
});
