import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MergedClass, mergeClass } from "../../../environments/class-completion/merge-class.ts";
import { createPyodideSandbox } from "../../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createPyodideSandbox({ workers: 1 });
});
afterAll(() => sandbox?.[Symbol.asyncDispose]());

const skeleton = `import re

class A:
    """A class."""

    limit = 3

    def __init__(self):
        self.x = 1

    @staticmethod
    def a(n):
        """Doc a."""

    def b(self):
        """Doc b."""

    @property
    def p(self):
        """Doc p."""

    @p.setter
    def p(self, value):
        """Doc setter."""
`;
const owners = { a: 0, b: 1, p: 0, "p.setter": 1 };

async function merge(...replies: string[]): Promise<MergedClass> {
  const merged = await mergeClass({ sandbox, skeleton, className: "A", owners, replies });
  expect(merged).toBeDefined();
  return merged!;
}
const written = ({ methods }: MergedClass): string[] => Object.keys(methods).filter((name) => methods[name] === null);

describe("a reply's own methods are used", () => {
  it.each([
    ["as functions", "def a(n):\n    return n\n"],
    ["with the skeleton's decorators", "@staticmethod\ndef a(n):\n    return n\n"],
    ["with decorators that the skeleton has not", "@print\n@classmethod\ndef a(n):\n    return n\n"],
    ["in the class", 'class A:\n    """Mine."""\n    @staticmethod\n    def a(n):\n        return n\n'],
    ["in the class, again", "class A:\n    def a(n):\n        return 0\nclass A:\n    def a(n):\n        return n\n"],
    ["cut out of the class", "    @staticmethod\n    def a(n):\n        return n\n\n"],
    ["with tabs", "\tdef a(n):\n\t\treturn n\n"],
    ["with lines that end otherwise", "def a(n):\r\n    return n\r\n"],
    ["the last of several", "def a(n):\n    return 0\ndef a(n):\n    return n\n"],
  ])("%s", async (_, reply) => {
    const merged = await merge(reply, "");
    expect(written(merged)).toEqual(["a"]);
    expect(merged.source).toContain("    @staticmethod\n    def a(n):\n        return n\n");
    expect(merged.source.match(/@/g)).toHaveLength(3);
    expect(merged.replies[0]).toEqual({ error: null, line: null, overlap: [] });
  });

  it("of all agents, and both functions of a property", async () => {
    const merged = await merge(
      "def a(n):\n    return n\n@property\ndef p(self):\n    return self._p\n",
      "def b(self):\n    def a(n):\n        return 7\n    return a(1)\n@p.setter\ndef p(self, value):\n    self._p = value\n",
    );
    expect(written(merged)).toEqual(["a", "b", "p", "p.setter"]);
    expect(merged.replies.map(({ overlap }) => overlap)).toEqual([[], []]);
    expect(merged.source).toContain("    @p.setter\n    def p(self, value):\n        self._p = value");
  });

  it("also async ones, and strings with line breaks and backslashes unchanged", async () => {
    const text = "'''one\\n\n    two\n\tthree'''";
    const merged = await merge(`async def a(n):\n    return ${text}\n`, "");
    expect(written(merged)).toEqual(["a"]);
    expect(merged.source).toContain("async def a(n):");
    expect(merged.source).toContain("one\\n\\n    two\\n\\tthree");
  });
});

describe("ignored parts", () => {
  it("are the methods of others, which count as overlap once each", async () => {
    const merged = await merge(
      "def b(self):\n    return 'theirs'\ndef b(self):\n    return 2\n",
      "def b(self):\n    return 1\n",
    );
    expect(merged.replies.map(({ overlap }) => overlap)).toEqual([["b"], []]);
    expect(merged.source).toContain("return 1");
    expect(merged.source).not.toContain("theirs");
    const unwanted = await merge("", "def a(n):\n    return n\n");
    expect(written(unwanted)).toEqual([]);
    expect(unwanted.replies[1]!.overlap).toEqual(["a"]);
  });

  it("are code of the class and the module, other classes, and definitions of the skeleton", async () => {
    const reply = `import os
limit = 9
print("ran")
class B:
    def a(n): return 'of B'
class A:
    limit = 9
    print("ran")
    def __init__(self): self.x = 2
    def __eq__(self, other): return True
    def a(n): return n
    class C: pass
if True:
    def a(n): return 'hidden'
A.limit = 9
def A(): return None
`;
    const merged = await merge(reply, "");
    expect(written(merged)).toEqual(["a"]);
    expect(merged.source).not.toMatch(/9|ran|of B|__eq__|class C|hidden|def A/);
    expect(merged.source).toContain("self.x = 1");
    expect(merged.source).toContain("import os");
  });

  it.each([
    ["nothing but a docstring", 'def a(n):\n    """Doc."""\n', "no body"],
    ["pass", "def a(n):\n    pass\n", "no body"],
    ["an ellipsis", "def a(n): ...\n", "no body"],
    ["an error in place of a body", "def a(n):\n    raise NotImplementedError('todo')\n", "no body"],
    ["what does not compile", "def a(n):\n    break\n", "outside loop"],
    ["names that are bound nowhere", "def a(n):\n    nonlocal q\n", "nonlocal"],
    ["two parameters of one name", "def a(n, n):\n    return n\n", "duplicate"],
    ["a good one before an empty one", "def a(n):\n    return n\ndef a(n):\n    pass\n", "no body"],
    ["another name", "def aa(n):\n    return n\n", "not written"],
    ["a lambda", "a = lambda n: n\n", "not written"],
    ["nothing", "", "not written"],
  ])("are %s", async (_, reply, why) => {
    const merged = await merge(reply, "def b(self):\n    return 1\n");
    expect(merged.methods.a).toContain(why);
    expect(written(merged)).toEqual(["b"]);
    expect(merged.source).toContain("    @staticmethod\n    def a(n):\n        raise NotImplementedError");
  });

  it.each([
    ["an error of syntax, with its line", "def a(n):\n    return (\n", "SyntaxError", 2],
    ["an indentation", "def a(n):\n    x = 1\n  return x\n", "IndentationError", 3],
    ["a null byte", "def a(n):\n    return '\0'\n", "", null],
    ["half a surrogate", "def a(n):\n    return '\ud800'\n", "", null],
    ["endless brackets", "(".repeat(50_000), "", null],
    ["endless signs", `def a(n):\n    return ${"-".repeat(60_000)}1\n`, "", null],
    ["endless attributes", `x = y${".z".repeat(40_000)}\n`, "", null],
    ["endless sums", `x = 1${" + 1".repeat(20_000)}\n`, "", null],
    ["endless blocks", Array.from({ length: 101 }, (_, i) => `${" ".repeat(i)}if x:`).join("\n"), "", null],
    ["more than is read", `def a(n):\n    return 1\n${"# long\n".repeat(500_000)}`, "longer", null],
    ["words", "I would write the method like this.", "SyntaxError", 1],
  ])("are a reply with %s, but not the other replies", async (_, reply, error, line) => {
    const merged = await mergeClass({
      sandbox,
      skeleton,
      className: "A",
      owners,
      replies: [reply, "def b(self):\n    return 1\n"],
    });
    expect(merged).toBeDefined();
    expect(written(merged!)).toEqual(["b"]);
    if (error !== "") expect(merged!.replies[0]!.error).toContain(error);
    if (line !== null) expect(merged!.replies[0]!.line).toBe(line);
  });
});

describe("helpers", () => {
  it("go to their scope, and the first definition of a name is kept", async () => {
    const merged = await merge(
      "def a(n):\n    return helper(n)\ndef helper(n):\n    return n\ndef _own(self):\n    return 'first'\n",
      "class A:\n    def b(self):\n        return self._own()\n    def _own(self):\n        return 'second'\n    @staticmethod\n    def of_class():\n        return 1\n",
    );
    expect(written(merged)).toEqual(["a", "b"]);
    expect(merged.source).toMatch(/^def helper\(n\):/m);
    expect(merged.source).toMatch(/^ {4}def _own\(self\):\n {8}return 'first'/m);
    expect(merged.source).toMatch(/^ {4}@staticmethod\n {4}def of_class\(\):/m);
    expect(merged.source).not.toContain("second");
  });

  it("that do not compile are ignored", async () => {
    expect((await merge("def a(n):\n    return n\ndef helper():\n    break\n", "")).source).not.toContain("helper");
  });

  it("from __future__ are imported first", async () => {
    const { source } = await merge("from __future__ import annotations\nimport os\ndef a(n):\n    return n\n", "");
    expect(source.startsWith("from __future__ import annotations\n")).toBe(true);
    const braces = await merge("from __future__ import braces\ndef a(n):\n    return n\n", "");
    expect(braces.source).not.toContain("__future__");
  });
});

it("never run", async () => {
  const { source } = await merge("import sys\nsys.exit(1)\n", "def b(self, x=open('/tmp/x', 'w')):\n    return 1\n");
  expect(source).toContain("def b(self, x=open('/tmp/x', 'w')):");
});
