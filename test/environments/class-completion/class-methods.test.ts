import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classMethods } from "../../../environments/class-completion/class-methods.ts";
import { splitMethods } from "../../../environments/class-completion/method-split.ts";

const source = `import re
class Other:
    def a(self): pass
class A(Other):
    """Doc."""
    limit = 3
    def __init__(self, x=(1, 2), *rest, **more):
        self.x = x
    @staticmethod
    def a(n: "dict[str, int]" = {"b": 1}):
        """Doc."""
    async def b(self):
        ...
    def c(self): pass
    def d(self): return 1
    @property
    def p(self):
        raise NotImplementedError("later")
    @p.setter
    def p(self, value):
        """Doc."""
        pass
    def e(self):
        def inner(self, x): pass
        return inner
    if limit:
        def f(self): pass
def g(self): pass
`;

describe("the methods of a class", () => {
  it("have a name, a number of parameters and a flag for an empty body", () => {
    const methods = classMethods(source, "A")!;
    expect(methods.map(({ name, isEmpty, parameters }) => [name, isEmpty, parameters])).toEqual([
      ["__init__", false, 4],
      ["a", true, 1],
      ["b", true, 1],
      ["c", true, 1],
      ["d", false, 1],
      ["p", true, 1],
      ["p.setter", true, 2],
      ["e", false, 1],
    ]);
    expect(methods[1]!.text).toBe('@staticmethod\ndef a(n: "dict[str, int]" = {"b": 1}):\n    """Doc."""');
  });

  it("are undefined if there is no such class", () => {
    expect(classMethods(source, "B")).toBeUndefined();
    expect(classMethods("class A(:\n '''", "A")).toBeUndefined();
  });
});

describe("a split", () => {
  const methods = fc
    .uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 9 })
    .chain((names) => fc.tuple(...names.map((name) => fc.record({ name: fc.constant(name), parameters: fc.nat(4) }))));
  const splits = fc.constantFrom("round-robin" as const, "shuffled" as const, "parameters" as const);

  it("assigns every method to one agent, in the order of the class, and is deterministic", () => {
    fc.assert(
      fc.property(methods, splits, fc.integer({ min: 1, max: 8 }), fc.string(), (all, split, agents, id) => {
        const shares = splitMethods({ methods: all, agents, split, id });
        const names = all.map(({ name }) => name);
        expect(shares).toHaveLength(agents);
        expect(shares.flat().toSorted()).toEqual(names.toSorted());
        for (const share of shares) expect(share).toEqual(names.filter((name) => share.includes(name)));
        expect(splitMethods({ methods: all, agents, split, id })).toEqual(shares);
        if (split === "parameters") return;
        const sizes = shares.map(({ length }) => length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("matches its name", () => {
    const all = [1, 3, 2, 1, 2].map((parameters, i) => ({ name: `m${i}`, parameters }));
    const split = (how: "round-robin" | "shuffled" | "parameters", id = "x") =>
      splitMethods({ methods: all, agents: 2, split: how, id });
    expect(split("round-robin")).toEqual([
      ["m0", "m2", "m4"],
      ["m1", "m3"],
    ]);
    expect(split("parameters")).toEqual([
      ["m0", "m3"],
      ["m1", "m2", "m4"],
    ]);
    const shuffled = ["a", "b", "c", "d", "e", "f"].map((id) => JSON.stringify(split("shuffled", id)));
    expect(new Set(shuffled).size).toBeGreaterThan(2);
  });
});
