import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listMutations, type Mutation, mutated, mutationGroups } from "../../../environments/bug-fix/mutation.ts";
import { createPyodideSandbox } from "../../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { createRandom } from "../../../src/core/random/random.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createPyodideSandbox({ workers: 1 });
});
afterAll(() => sandbox?.[Symbol.asyncDispose]());

const list = (program: string, start = 0): Promise<readonly Mutation[]> => listMutations({ sandbox, program, start });
/** Returns every program that one mutation makes from a function with this body. */
async function mutants(body: string, parameters = "a, b"): Promise<string[]> {
  const head = `def f(${parameters}):\n`;
  const program = head + body;
  return (await list(program)).map((mutation) => mutated(program, [mutation]).slice(head.length));
}

describe("mistakes", () => {
  it.each<[string, string, readonly string[]]>([
    ["comparisons", "    return a < b", ["    return a <= b", "    return a > b"]],
    ["a comparison of several", "    return 0 <= a == b", ["    return 0 < a == b", "    return 0 <= a != b"]],
    ["words", "    return a not  in b", ["    return a in b"]],
    ["is not", "    return a is not b", ["    return a is b"]],
    ["arithmetic", "    return (a) * (b)", ["    return (a) + (b)", "    return (a) ** (b)"]],
    ["boolean operators", "    return a and b or a", ["    return a or b or a", "    return a and b and a"]],
    ["a not", "    return not a", ["    return a"]],
    ["conditions", "    return a if a == b else b", ["    return a if not (a == b) else b"]],
    ["constants", "    return 10", ["    return 9", "    return 11"]],
    ["flags", "    return sorted(a, reverse=True)", ["    return sorted(a, reverse=False)"]],
    ["bounds of a range", "    return range(a)", ["    return range(a + 1)", "    return range(1, a)"]],
    ["an index", "    return a[b]", ["    return a[b + 1]", "    return a[b - 1]"]],
    ["bounds of a slice", "    return a[:b]", ["    return a[:b - 1]"]],
    ["another variable", "    return a", ["    return b"]],
    ["the order of arguments", "    return max(a, b)", ["    return max(b, a)", "    return min(a, b)"]],
    ["a forgotten return", "    return a", ["    a"]],
    ["what is left out", "    a += 1  # one\n    return a", ["    return a"]],
    ["a conversion", "    return sorted(set(a))", ["    return set(a)", "    return sorted(a)"]],
    ["a sign", "    return a[::-1]", ["    return a[::1]"]],
    [
      "characters beyond UTF-16's plane and bytes",
      "    return '𝒳é' + a + b",
      ["    return '𝒳é' - a + b", "    return '𝒳é' + a - b"],
    ],
    [
      "lines that go on",
      "    return (a\n      +  # plus - or\n      b)",
      ["    return (a\n      -  # plus - or\n      b)"],
    ],
    ["tabs", "\tif a:\n\t\treturn b\n\treturn a", ["\tif not (a):\n\t\treturn b\n\treturn a"]],
  ])("%s", async (_, body, wanted) => {
    expect(await mutants(body)).toEqual(expect.arrayContaining([...wanted]));
  });

  it("do not occur in docstrings, annotations, defaults, other functions' names and f-strings", async () => {
    const program = 'def g(x: "1 + 1" = 2) -> 3:\n    """4 < 5"""\n    "6"\n    return f"{x}"\n';
    expect((await list(program)).map(({ kind }) => kind)).toEqual(["forgotten-return"]);
    const scopes = "def f(a):\n    return a\n\ndef g(b):\n    return b\n";
    expect((await list(scopes)).map(({ kind }) => kind)).toEqual(["forgotten-return", "forgotten-return"]);
  });

  it("come after the start", async () => {
    const program = "x = 1 < 2\n\ndef f():\n    return 1 < 2\n";
    const start = program.indexOf("def");
    for (const mutation of await list(program, start)) expect(mutation.start).toBeGreaterThanOrEqual(start);
    expect(await list(program, start)).not.toHaveLength(0);
    expect(await list(program, program.length)).toEqual([]);
  });

  it("never remove the first binding of a name, nor the only statement", async () => {
    expect(await mutants("    c = a\n    return c")).not.toContain("    return c");
    expect(await mutants("    c = a\n    c = b\n    return c")).toContain("    c = a\n    return c");
    expect(await mutants("    if a:\n        b.clear()\n    return b")).not.toContain("    if a:\n    return b");
  });

  it("of text that is not Python are rejected", async () => {
    await expect(list("def f(:\n")).rejects.toMatchObject({ code: "data.malformed" });
  });
});

describe("groups", () => {
  const program = "def f(a, b):\n    c = a + b * 2\n    return c - 1 if a < b else max(a, b)\n";

  it("do not overlap, have the requested size, and are the same for the same seed", async () => {
    const mutations = await list(program);
    for (const count of [1, 2, 3]) {
      const groups = mutationGroups({ mutations, count, random: createRandom(count) });
      expect(groups).toHaveLength(mutations.length);
      expect(new Set(groups.map(([first]) => first)).size).toBe(mutations.length);
      for (const group of groups) {
        expect(group).toHaveLength(count);
        const spans = group.toSorted((x, y) => x.start - y.start);
        for (const [i, { start }] of spans.entries())
          if (i > 0) expect(start).toBeGreaterThanOrEqual(spans[i - 1]!.end);
        expect(mutated(program, group)).not.toBe(program);
      }
      expect(mutationGroups({ mutations, count, random: createRandom(count) })).toEqual(groups);
      expect(mutationGroups({ mutations, count, random: createRandom(count + 100) })).not.toEqual(groups);
    }
  });

  it("are smaller if there are fewer mutations", async () => {
    const mutations = (await list("def f(a):\n    return a\n")).slice(0, 1);
    expect(mutationGroups({ mutations, count: 3, random: createRandom(1) })).toEqual([mutations]);
    expect(mutationGroups({ mutations: [], count: 3, random: createRandom(1) })).toEqual([]);
  });

  it("begin with each kind equally often, however many places it has", () => {
    const mutations = [
      ...Array.from({ length: 99 }, (_, i) => ({ kind: "often", start: i, end: i + 1, text: "" })),
      { kind: "seldom", start: 100, end: 101, text: "" },
    ];
    const firsts = Array.from(
      { length: 200 },
      (_, seed) => mutationGroups({ mutations, count: 1, random: createRandom(seed) })[0]![0]!.kind,
    );
    const seldom = firsts.filter((kind) => kind === "seldom").length;
    expect(seldom).toBeGreaterThan(60);
    expect(seldom).toBeLessThan(140);
  });
});
