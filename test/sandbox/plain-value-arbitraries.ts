import fc from "fast-check";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { plainFloat } from "../../sandbox/plain-value-conversion.ts";

const float = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, 1, 2, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, 1e22, 5e-324),
);
const int = fc.oneof(fc.bigInt(), fc.bigInt(-3n, 3n), fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, 10n ** 22n));
/** Few letters, so that equal strings occur often, and letters that are hard to quote. */
const text = fc.oneof(
  fc.constantFrom("", "a", "b", "'", "\"'", "\\", "\n", "\r\u2028", "\u0000", "é", "𝒳", "\ud800", "#{}", "1"),
  fc.string({ unit: "grapheme" }),
);
const bytes = fc.uint8Array({ maxLength: 6 }).map((array) => ({ bytes: Buffer.from(array).toString("base64") }));

/** Numbers of Python from a small range, so that equal numbers of different types occur. */
const pythonNumber: fc.Arbitrary<PlainValue> = fc.oneof(
  fc.boolean(),
  int.map((value) => ({ int: String(value) })),
  float.map(plainFloat),
  fc.tuple(float, float).map(([re, im]) => ({ complex: [floatText(re), floatText(im)] as const })),
);
const pythonScalar: fc.Arbitrary<PlainValue> = fc.oneof(fc.constant(null), pythonNumber, pythonNumber, text, bytes);
const hashable: fc.Arbitrary<PlainValue> = fc.letrec<{ value: PlainValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    pythonScalar,
    fc.array(tie("value"), { maxLength: 3 }).map((tuple) => ({ tuple })),
    fc.array(tie("value"), { maxLength: 3 }).map((frozenset) => ({ frozenset })),
  ),
})).value;

/** Any value of Python. Sets and dicts may contain a key twice, as source text may. */
export const pythonValue: fc.Arbitrary<PlainValue> = fc.letrec<{ value: PlainValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    pythonScalar,
    fc.array(tie("value"), { maxLength: 4 }).map((list) => ({ list })),
    fc.array(tie("value"), { maxLength: 4 }).map((tuple) => ({ tuple })),
    fc.array(hashable, { maxLength: 4 }).map((set) => ({ set })),
    fc.array(hashable, { maxLength: 4 }).map((frozenset) => ({ frozenset })),
    fc.array(fc.tuple(hashable, tie("value")), { maxLength: 4 }).map((dict) => ({ dict })),
  ),
})).value;

/** A value of JavaScript that a sandbox accepts. */
export const javascriptValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.oneof(fc.constantFrom(null, undefined, true, false, 0n, 1n, 2n ** 64n), float, fc.constantFrom(0, 1, 2), text),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.constantFrom("a", "b", "__proto__", "1", "a b"), text), tie("value"), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
    fc.array(tie("value"), { maxLength: 3 }).map((items) => new Set(items)),
    fc.uint8Array({ maxLength: 3 }),
  ),
})).value;

function floatText(number: number): string {
  return (plainFloat(number) as { readonly float: string }).float;
}
