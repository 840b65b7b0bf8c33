import type { createInspect } from "./inspect.ts";

/** The `assert` function, with Node's other assertions and `strict` as properties. */
export type Assert = (value: unknown, message?: unknown) => void;

/**
 * Creates `require("node:assert")` for the tests of a judge: the functions that benchmark tests use, as in Node.
 * Compared values are copies, or the judge's own stand-ins, which equal only themselves. Sent to an isolate as source
 * text, so it refers to nothing but its arguments.
 */
export function createAssert(
  makeInspect: typeof createInspect,
  /** True if a value is a stand-in for a value of the code. Classes of the code match errors by name only. */
  isStandIn: (value: object) => boolean = () => false,
): Assert {
  const inspect = makeInspect();
  class AssertionError extends Error {
    readonly code = "ERR_ASSERTION";
    override readonly name = "AssertionError";
  }
  const fail = (message: unknown, otherwise: string): never => {
    if (message instanceof Error) throw message;
    throw new AssertionError(message === undefined ? otherwise : String(message));
  };
  type Same = (a: unknown, b: unknown) => boolean;
  // biome-ignore lint/suspicious/noDoubleEquals: that is what `equal` is.
  const loose: Same = (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b));

  const sameItems = (a: readonly unknown[], b: readonly unknown[], same: Same): boolean =>
    a.length === b.length && a.every((item, i) => same(item, b[i]));
  const sameMembers = (a: Iterable<unknown>, b: Iterable<unknown>, same: Same): boolean => {
    const left = [...b];
    for (const item of a) {
      const place = left.findIndex((other) => same(item, other));
      if (place === -1) return false;
      left.splice(place, 1);
    }
    return left.length === 0;
  };
  const sameProperties = (a: object, b: object, same: Same): boolean => {
    const keys = Object.keys(a);
    const get = (object: object, key: string): unknown => (object as Record<string, unknown>)[key];
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && same(get(a, key), get(b, key)))
    );
  };
  const deep = (strict: boolean): Same => {
    const leaf = strict ? Object.is : loose;
    const same: Same = (a, b) => {
      const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
      if (!isObject(a) || !isObject(b)) return isObject(a) === isObject(b) && leaf(a, b);
      return sameObjects(a as object, b as object);
    };
    const sameObjects = (a: object, b: object): boolean => {
      if (a === b) return true;
      const tag = Object.prototype.toString.call(a);
      if (tag !== Object.prototype.toString.call(b)) return false;
      if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
      if (Array.isArray(a) && !sameItems(a, b as unknown[], same)) return false;
      if (a instanceof Map || a instanceof Set) return sameMembers(a, b as Set<unknown>, same);
      if (a instanceof Date && !Object.is(a.getTime(), (b as Date).getTime())) return false;
      if (a instanceof RegExp && String(a) !== String(b)) return false;
      if (a instanceof Error && (a.name !== (b as Error).name || a.message !== (b as Error).message)) return false;
      if (/^\[object (Number|String|Boolean)\]$/.test(tag) && !Object.is(a.valueOf(), b.valueOf())) return false;
      return sameProperties(a, b, same);
    };
    return same;
  };

  type Compare = (actual: unknown, expected: unknown, message?: unknown) => void;
  const expecting =
    (same: Same, wanted: boolean): Compare =>
    (actual, expected, message) => {
      if (same(actual, expected) === wanted) return;
      fail(message, `${inspect([actual])} should ${wanted ? "" : "not "}equal ${inspect([expected])}`);
    };
  const ok: Assert = (value, message) => {
    if (!value) fail(message, `${inspect([value])} should be true`);
  };
  /** True if an error matches what a test expects: a class, a pattern, properties, or a function that decides. */
  const matches = (error: unknown, expected: unknown): boolean => {
    if (expected instanceof RegExp) return expected.test(String(error));
    if (typeof expected === "function") {
      const isClass = expected === Error || Object.prototype.isPrototypeOf.call(Error, expected);
      // Errors of the code's own classes are matched by name. A function that decides also has a name, but is called.
      if ((isClass || isStandIn(expected)) && (error as Error | null)?.name === expected.name) return true;
      if (isClass) return error instanceof expected;
      return (expected as (error: unknown) => unknown)(error) === true;
    }
    if (typeof expected !== "object" || expected === null) return true;
    const same = deep(true);
    return Object.entries(expected).every(([key, value]) => {
      const actual = (error as Record<string, unknown> | null)?.[key];
      return value instanceof RegExp && typeof actual === "string" ? value.test(actual) : same(actual, value);
    });
  };
  const checkThrown = (error: unknown, expected: unknown, message: unknown): void => {
    if (!matches(error, expected)) fail(message, `${String(error)} is not the error that was expected`);
  };
  const throws = (work: () => unknown, expected?: unknown, message?: unknown): void => {
    try {
      work();
    } catch (error) {
      checkThrown(error, expected, message);
      return;
    }
    fail(typeof expected === "string" ? expected : message, "It should throw");
  };
  const rejects = async (work: unknown, expected?: unknown, message?: unknown): Promise<void> => {
    try {
      await (typeof work === "function" ? work() : work);
    } catch (error) {
      checkThrown(error, expected, message);
      return;
    }
    fail(typeof expected === "string" ? expected : message, "It should reject");
  };

  const strictFunctions = {
    ok,
    fail: (message?: unknown) => fail(message, "Failed"),
    strictEqual: expecting(Object.is, true),
    notStrictEqual: expecting(Object.is, false),
    deepStrictEqual: expecting(deep(true), true),
    notDeepStrictEqual: expecting(deep(true), false),
    throws,
    doesNotThrow: (work: () => unknown) => void work(),
    rejects,
    doesNotReject: async (work: unknown) => void (await (typeof work === "function" ? work() : work)),
    match: (text: string, pattern: RegExp, message?: unknown) => {
      if (!pattern.test(text)) fail(message, `${inspect([text])} should match ${String(pattern)}`);
    },
    doesNotMatch: (text: string, pattern: RegExp, message?: unknown) => {
      if (pattern.test(text)) fail(message, `${inspect([text])} should not match ${String(pattern)}`);
    },
    AssertionError,
  };
  const { strictEqual, notStrictEqual, deepStrictEqual, notDeepStrictEqual } = strictFunctions;
  const make = (more: object): Assert =>
    Object.assign((value: unknown, message?: unknown) => ok(value, message), strictFunctions, more);
  const strict = make({
    equal: strictEqual,
    notEqual: notStrictEqual,
    deepEqual: deepStrictEqual,
    notDeepEqual: notDeepStrictEqual,
  });
  Object.assign(strict, { strict });
  return make({
    equal: expecting(loose, true),
    notEqual: expecting(loose, false),
    deepEqual: expecting(deep(false), true),
    notDeepEqual: expecting(deep(false), false),
    strict,
  });
}
