import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromErrorData, LyceumError, toErrorData, unknownNameError } from "../../../src/contract/errors/index.ts";
import { nearestName } from "../../../src/contract/errors/nearest-name.ts";
import { environmentFailure } from "../../../src/core/environment/environment-error.ts";

describe("LyceumError", () => {
  const options = { code: "data.malformed", message: "Row 3 is empty.", hint: "Fill it.", data: { row: 3 } } as const;

  test("is an Error with its options, its cause and a stack", () => {
    const cause = new Error("inner");
    const error = new LyceumError({ ...options, cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ ...options, name: "LyceumError", cause });
    expect(error.stack).toContain("errors.test.ts");
  });

  test("omits options that were not given, also in its data", () => {
    const error = new LyceumError({ code: "internal", message: "Oh." });
    expect("cause" in error).toBe(false);
    expect(error.toData()).toStrictEqual({ name: "LyceumError", code: "internal", message: "Oh." });
  });

  test("survives a round trip through JSON data", () => {
    const data = new LyceumError(options).toData();
    expect(data).toStrictEqual({ name: "LyceumError", ...options });
    const back = fromErrorData(JSON.parse(JSON.stringify(data)));
    expect(back.toData()).toStrictEqual(data);
    expect(LyceumError.isInstance(back)).toBe(true);
  });

  test("is recognized by its brand, also from another copy of the package, and other values are not", async () => {
    const path = "../../../src/contract/errors/lyceum-error.ts?copy";
    const copy = (await import(/* @vite-ignore */ path)) as { LyceumError: typeof LyceumError };
    const foreign = new copy.LyceumError(options);
    expect(copy.LyceumError).not.toBe(LyceumError);
    expect(foreign instanceof LyceumError).toBe(false);
    expect(LyceumError.isInstance(foreign)).toBe(true);
    for (const other of [
      null,
      undefined,
      1,
      "LyceumError",
      new Error("x"),
      { ...options },
      new LyceumError(options).toData(),
    ]) {
      expect(LyceumError.isInstance(other)).toBe(false);
    }
  });

  test("has a brand that is not enumerable", () => {
    expect(Object.keys(new LyceumError(options))).not.toContain("brand");
    expect(JSON.stringify(new LyceumError(options))).not.toContain("true");
  });
});

describe("toErrorData", () => {
  test.each([
    [
      new LyceumError({ code: "timeout", message: "Late." }),
      { name: "LyceumError", code: "timeout", message: "Late." },
    ],
    [new TypeError("bad"), { name: "TypeError", code: "internal", message: "bad" }],
    [AbortSignal.abort().reason, { name: "AbortError", code: "aborted", message: "This operation was aborted" }],
    [new DOMException("late", "TimeoutError"), { name: "TimeoutError", code: "timeout", message: "late" }],
    ["text", { name: "Error", code: "internal", message: "text" }],
    [undefined, { name: "Error", code: "internal", message: "undefined" }],
    [null, { name: "Error", code: "internal", message: "null" }],
    [Object.create(null), { name: "Error", code: "internal", message: "[object Object]" }],
    [new Map([[1, 2]]), { name: "Error", code: "internal", message: "[object Map]" }],
    [
      { status: 500, apiKey: "k", headers: { a: "b" } },
      { name: "Error", code: "internal", message: '{"status":500}' },
    ],
    [runInNewContext("new TypeError('x')"), { name: "Error", code: "internal", message: "TypeError: x" }],
    [
      { status: 500, body: "full" },
      { name: "Error", code: "internal", message: '{"status":500,"body":"full"}' },
    ],
    [
      { status: 500, message: "full" },
      { name: "Error", code: "internal", message: "full" },
    ],
    [
      { big: 1n, tokens: 5 },
      { name: "Error", code: "internal", message: '{"big":"1","tokens":5}' },
    ],
    [[{ reason: "a" }, "b"], { name: "Error", code: "internal", message: '{"reason":"a"}, b' }],
    [
      { message: "", code: 7 },
      { name: "Error", code: "internal", message: '{"message":"","code":7}' },
    ],
    [new AggregateError([new Error("one"), "two"]), { name: "AggregateError", code: "internal", message: "one; two" }],
    [new URL("http://localhost/a"), { name: "Error", code: "internal", message: "http://localhost/a" }],
    [{ toString: () => ({}) }, { name: "Error", code: "internal", message: "[object Object]" }],
    [Symbol("s"), { name: "Error", code: "internal", message: "Symbol(s)" }],
  ])("%s", (thrown, data) => expect(toErrorData(thrown)).toStrictEqual(data));

  test("an error whose message cannot be read is an error with a message", () => {
    const broken = Object.defineProperty(new Error("x"), "message", {
      get: () => {
        throw new Error("inner");
      },
    });
    const message = "an error whose message cannot be read";
    expect(toErrorData(broken)).toEqual({ name: "Error", code: "internal", message });
    const closed = environmentFailure({ environment: "shop", call: "close", error: broken });
    expect(closed.message).toMatch(/^Environment "shop" threw in close: .*an error whose message cannot be read/);
  });

  test("uses the fallback code only for values without a code", () => {
    expect(toErrorData(new Error("x"), "policy.failed").code).toBe("policy.failed");
    expect(toErrorData("x", "policy.failed").code).toBe("policy.failed");
    expect(toErrorData(AbortSignal.abort().reason, "policy.failed").code).toBe("aborted");
    expect(toErrorData(new LyceumError({ code: "internal", message: "" }), "policy.failed").code).toBe("internal");
  });

  test("converts any thrown value to JSON data", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true }), (thrown) => {
        const data = toErrorData(thrown);
        expect(JSON.parse(JSON.stringify(data))).toEqual(data);
      }),
    );
  });
});

describe("unknown names", () => {
  const known = ["temperature", "topP", "topK", "seed", "maxTokens"];

  test.each([
    ["temprature", "temperature"],
    ["tempertaure", "temperature"],
    ["Temperature", "temperature"],
    ["top_p", "topP"],
    ["maxTokens ", "maxTokens"],
    ["sede", "seed"],
    ["learningRate", undefined],
    ["", undefined],
    ["zzzzzz", undefined],
  ])("the nearest to %j is %s", (name, nearest) => expect(nearestName(name, known)).toBe(nearest));

  test("the error suggests the nearest name and lists all names", () => {
    const error = unknownNameError({ kind: "config key", name: "temprature", known });
    expect(error).toMatchObject({
      code: "config.unknown-name",
      message: 'Unknown config key "temprature".',
      hint: 'Did you mean "temperature"? Known: temperature, topP, topK, seed, maxTokens.',
      data: { name: "temprature", known, nearest: "temperature" },
    });
    expect(unknownNameError({ kind: "split", name: "x", known: ["train"], code: "data.out-of-range" }).code).toBe(
      "data.out-of-range",
    );
  });

  test("without a near name the hint lists all names, or states that there are none", () => {
    expect(unknownNameError({ kind: "device", name: "quantum", known: ["cpu"] }).hint).toBe("Known: cpu.");
    expect(unknownNameError({ kind: "device", name: "cpu", known: [] }).hint).toBe("No device is available.");
  });

  test("a known name is nearest to itself and to each of its single typing errors", () => {
    const name = fc.stringMatching(/^[a-z]{4,10}$/);
    fc.assert(
      fc.property(name, fc.nat(), fc.constantFrom("delete", "double", "swap", "change"), (word, place, edit) => {
        const i = place % (word.length - 1);
        const edited = {
          delete: word.slice(0, i) + word.slice(i + 1),
          double: word.slice(0, i) + word[i]! + word.slice(i),
          swap: word.slice(0, i) + word[i + 1]! + word[i]! + word.slice(i + 2),
          change: `${word.slice(0, i)}-${word.slice(i + 1)}`,
        }[edit];
        expect(nearestName(word, ["0000000000000", word])).toBe(word);
        expect(nearestName(edited, ["0000000000000", word])).toBe(word);
      }),
    );
  });

  test("the nearer of two names is suggested, in any order", () => {
    expect(nearestName("trian", ["brain", "train"])).toBe("train");
    expect(nearestName("trian", ["train", "brain"])).toBe("train");
    expect(nearestName("trains", ["strains", "training", "train"])).toMatch(/^s?trains?$/);
  });
});
