import nodeAssert from "node:assert";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAssert } from "../../sandbox/isolated-vm/guest/assert.ts";
import { createInspect } from "../../sandbox/isolated-vm/guest/inspect.ts";

type Functions = Record<string, (...args: unknown[]) => unknown>;
const ours = createAssert(createInspect) as unknown as Functions;
const node = nodeAssert as unknown as Functions;

const leaf = fc.oneof(
  fc.constantFrom<unknown>(0, -0, 1, "1", "", true, false, null, undefined, Number.NaN, 1n, "a"),
  fc.integer({ min: -2, max: 2 }),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
    fc.array(fc.tuple(leaf, tie("value")), { maxLength: 2 }).map((entries) => new Map(entries)),
    fc.array(leaf, { maxLength: 3 }).map((items) => new Set(items)),
    fc.constantFrom("x", "y").map((text) => new Error(text)),
    fc.constantFrom(/a/, /a/g, /b/),
    fc.constantFrom(0, 1).map((time) => new Date(time)),
    fc.constant(Object.create(null)),
  ),
}));
/** A copy, which is often equal and sometimes nearly equal. */
const pair = fc.oneof(
  fc.tuple(value, value),
  value.map((one) => [one, structuredClone(one)] as const),
);

function throwsAt(functions: Functions, name: string, args: readonly unknown[]): boolean {
  try {
    functions[name]!(...args);
    return false;
  } catch {
    return true;
  }
}

describe("the assert of judges agrees with Node's", () => {
  const names = ["equal", "notEqual", "strictEqual", "notStrictEqual", "deepStrictEqual", "notDeepStrictEqual"];
  test.each([...names, "deepEqual", "notDeepEqual"])("%s", (name) => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const expected = throwsAt(node, name, [a, b]);
        // Node's loose deepEqual says that [1] equals [null], and that [null] does not equal [1].
        fc.pre(expected === throwsAt(node, name, [b, a]));
        expect(throwsAt(ours, name, [a, b])).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  const bang = (): never => {
    throw new RangeError("bang");
  };
  const quiet = (): void => undefined;
  const decide = (answer: boolean) => (): boolean => answer;
  test.each<[string, unknown[]]>([
    ["throws", [bang]],
    ["throws", [quiet]],
    ["throws", [bang, RangeError]],
    ["throws", [bang, Error]],
    ["throws", [bang, TypeError]],
    ["throws", [bang, /bang/]],
    ["throws", [bang, /^bang/]],
    ["throws", [bang, { message: "bang", name: "RangeError" }]],
    ["throws", [bang, { message: /an/ }]],
    ["throws", [bang, { message: "other" }]],
    ["throws", [bang, decide(true)]],
    ["throws", [bang, decide(false)]],
    ["doesNotThrow", [bang]],
    ["doesNotThrow", [quiet]],
    ["ok", [""]],
    ["ok", ["0"]],
    ["match", ["abc", /b/]],
    ["match", ["abc", /d/]],
    ["doesNotMatch", ["abc", /b/]],
    ["fail", []],
  ])("%s %o", (name, args) => {
    expect(throwsAt(ours, name, args)).toBe(throwsAt(node, name, args));
  });

  test("rejects", async () => {
    const settled = async (functions: Functions, args: unknown[]): Promise<boolean> => {
      return (functions.rejects!(...args) as Promise<void>).then(
        () => true,
        () => false,
      );
    };
    for (const args of [[async () => bang()], [Promise.resolve()], [async () => bang(), TypeError]]) {
      expect(await settled(ours, args)).toBe(await settled(node, args));
    }
  });

  test("throws a custom message, and a custom error", () => {
    expect(() => ours.equal!(1, 2, "so there")).toThrow("so there");
    expect(() => ours.equal!(1, 2, new TypeError("mine"))).toThrow(TypeError);
    expect(() => ours.equal!(1, 2)).toThrow("1 should equal 2");
  });
});
