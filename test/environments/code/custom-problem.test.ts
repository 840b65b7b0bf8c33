import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import { customProblem } from "../../../environments/code/custom-problem.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const row = { prompt: "Add one to x.", entryPoint: "inc", tests: ["assert inc(1) == 2", "assert inc(-1) == 0"] };
const script = {
  prompt: "Add one.",
  entryPoint: "inc",
  tests: ["assert.deepEqual(inc(1), 2)", "assert.deepEqual(candidate([1]), 0);"],
};

describe("a custom problem", () => {
  it("in Python is compiled to calls if its tests allow it, otherwise to a judge's tests", () => {
    expect(customProblem(row, "python")).toMatchObject({
      id: "inc",
      prompt: row.prompt,
      suite: { kind: "calls", function: "inc", tests: [{ args: [{ int: "1" }], expected: { int: "2" } }, {}] },
    });
    const looped = { ...row, tests: ["for i in range(3):\n    assert inc(i) == i + 1"] };
    expect(customProblem(looped, "python").suite).toMatchObject({
      kind: "judge",
      exports: ["inc"],
      tests: [{ code: looped.tests[0] }],
    });
  });

  it("keeps the definitions of its prompt for the judge", () => {
    const prompt = "def base():\n    return 1\n\ndef inc(x):\n    '''Add base().'''\n";
    const { suite } = customProblem({ ...row, prompt, tests: ["assert inc(1) == 1 + base()"] }, "python");
    expect(suite).toMatchObject({ kind: "judge", exports: ["inc"], setup: expect.stringContaining("def base") });
  });

  it("exports what its tests use of a solution, and the classes that its prompt gives", () => {
    const given = "from collections import namedtuple\nP = namedtuple('P', 'x y')\nclass Box: pass\n\ndef inc(x):\n";
    const tests = ["@twice\ndef f(): return Color.RED\nassert inc(P(1, 2)) == Box() != Fraction(1, 2)"];
    const { suite } = customProblem({ ...row, prompt: given, tests, solution: "def twice(f): return f\n" }, "python");
    expect(suite).toMatchObject({
      exports: expect.arrayContaining(["twice", "inc", "P", "Box", "Color"]),
      setup: expect.stringContaining("from fractions import Fraction"),
    });
  });

  it.each([
    ["class Item:\n    n = 1\nassert inc(Item()) == 2", "assert inc(Item()) == 2"],
    ["class Item(list): pass\nitems = [Item()]\nassert inc(items) == 2", "assert inc(items) == 2"],
    ["class Even(Number):\n    pass\nassert inc(x=Even) == 2", "assert inc(x=Even) == 2"],
    ["P = namedtuple('P', 'x')\nassert inc(P(1)) == 2", "assert inc(P(1)) == 2"],
    ["from enum import Enum\nC = Enum('C', 'A')\nassert inc(C.A) == 2", "assert inc(C.A) == 2"],
  ])("with objects of a class that only its tests have is refused with the line: %j", (test, line) => {
    expect(() => customProblem({ ...row, tests: ["assert inc(1) == 2", test] }, "python")).toThrow(
      expect.objectContaining({ code: "data.malformed", message: expect.stringContaining(`: ${line}.`) }),
    );
  });

  it.each([
    "import unittest\nclass Tests(unittest.TestCase):\n    def test(self): assert inc(1) == 2\nTests('test').debug()",
    "class Wrong(Exception): pass\nif inc(1) != 2: raise Wrong()\nassert inc(1) == 2",
    "class Unused: pass\nassert inc(1) == 2",
  ])("with classes that only its tests use is accepted: %j", (test) => {
    expect(customProblem({ ...row, tests: [test] }, "python").suite.kind).toBe("judge");
  });

  it("in JavaScript and TypeScript is compiled to calls", () => {
    for (const language of ["javascript", "typescript"] as const) {
      expect(customProblem({ ...script, id: "own/1", solution: "const inc = 1;", language }, language)).toMatchObject({
        id: "own/1",
        solution: "const inc = 1;",
        suite: {
          kind: "calls",
          language,
          function: "inc",
          tests: [{ args: [{ float: "1" }] }, { args: [{ list: [{}] }] }],
        },
      });
    }
  });

  it.each<[string, unknown, "python" | "javascript"]>([
    ["entryPoint", { prompt: "p", tests: ["assert f()"] }, "python"],
    ["tests", { ...row, tests: [] }, "python"],
    ["tests", { ...row, tests: "assert inc(1) == 2" }, "python"],
    ["prompt", { ...row, prompt: "  " }, "python"],
    ["entry_point", { ...row, entry_point: "inc" }, "python"],
    ["is not a valid function name", { ...row, entryPoint: "inc(x)" }, "python"],
    ["never call inc", { ...row, tests: ["assert dec(1) == 0"] }, "python"],
    ["without an assert", { ...row, tests: ["inc(1)"] }, "python"],
    ["is in javascript", { ...script, language: "javascript" }, "python"],
    ["assert.deepEqual", { ...script, tests: ["assert(inc(1) === 2)"] }, "javascript"],
    ["assert.deepEqual", { ...script, tests: ["assert.deepEqual(inc(y), 2)"] }, "javascript"],
    ["your own problems", null, "python"],
    ["your own problems", [], "python"],
  ])("is rejected, naming %s", (name, wrong, language) => {
    expect(() => customProblem(wrong, language)).toThrow(expect.objectContaining({ code: "data.malformed" }));
    expect(() => customProblem(wrong, language)).toThrow(name);
  });

  it("is read from a file, and an error names its position", async () => {
    const folder = temporaryFolder();
    try {
      const path = join(folder, "own.jsonl");
      const tasks = async () => (await codeEnvironment({ dataset: "jsonl", path }).tasks("train")).length;
      await writeFile(path, [row, { ...row, entryPoint: "inc" }].map((one) => JSON.stringify(one)).join("\n"));
      expect(await tasks()).toBe(2);
      await writeFile(path, [row, { ...row, tests: [""] }].map((one) => JSON.stringify(one)).join("\n"));
      await expect(tasks()).rejects.toMatchObject({
        code: "data.malformed",
        message: expect.stringContaining("problem 2"),
      });
      await writeFile(path, "{");
      await expect(tasks()).rejects.toMatchObject({ code: "data.malformed" });
    } finally {
      await rm(folder, { recursive: true });
    }
    await expect(
      codeEnvironment({ dataset: "jsonl", path: join(folder, "own.jsonl") }).tasks("train"),
    ).rejects.toMatchObject({ code: "data.not-found" });
    expect(() => codeEnvironment({ dataset: "jsonl" })).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });
});
