import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { replyCode } from "../../../../environments/shared/code-turns/reply-code.ts";

const python = (text: string, ...names: string[]): string => replyCode(text, { language: "python", names });

it.each([
  ["a reply without a block is code", "def f(): pass", "def f(): pass"],
  ["a marked block", "Here:\n```python\nx = 1\n```\nDone.", "x = 1"],
  ["an unmarked block", "```\nx = 1\n```", "x = 1"],
  ["the last of several", "```python\nx = 1\n```\nBetter:\n```python\nx = 2\n```", "x = 2"],
  ["not one of another language", "```python\nx = 1\n```\nRun:\n```bash\npython x.py\n```", "x = 1"],
  ["one of another language if there is no other", "```text\nx = 1\n```", "x = 1"],
  ["one that is cut off", "```python\nx = 1\ny =", "x = 1\ny ="],
  ["a longer fence around a shorter one", '````python\ns = """\n```\n"""\n````', 's = """\n```\n"""'],
  ["tildes", "~~~py\nx = 1\n~~~", "x = 1"],
  ["carriage returns", "```python\r\nx = 1\r\n```\r\n", "x = 1"],
  ["backticks within a line open nothing", "Use ```x``` here", "Use ```x``` here"],
  ["an empty block", "```python\n```", ""],
  ["a fence in a docstring", '```python\nx = """\n    ```\n"""\n```', 'x = """\n    ```\n"""'],
])("%s", (_, text, code) => {
  expect(python(text)).toBe(code);
  expect(python(text, "x")).toBe(code);
  expect(python(text, "absent")).toBe(code);
});

const f = "def f(x):\n    return x + 1";
const block = (code: string, mark = "python"): string => `\`\`\`${mark}\n${code}\n\`\`\``;

describe("the block that defines the solution is graded", () => {
  it.each([
    ["a usage example after it", `${block(f)}\nUsage:\n${block("print(f(1))")}`, f],
    ["tests after it", `${block(f)}\n${block("def test_f():\n    assert f(1) == 3")}`, f],
    ...["Contest", "Latest", "Fastest", "Protest", "Testing", "TestimonialStore"].map((name) => {
      const own = `class ${name}:\n    def f(self, x):\n        return x + 1`;
      return [`a class that is called ${name}`, `${block(own)}\nUsage:\n${block("print(f(1))")}`, own] as [
        string,
        string,
        string,
      ];
    }),
    [
      "asynchronous tests after it",
      `${block(f)}\n${block("class A(IsolatedAsyncioTestCase):\n    def f(self):\n        pass")}`,
      f,
    ],
    ["a nested definition of the name in tests", `${block(f)}\n${block("from f import f\nf(1)")}`, f],
    ["printed output after it", `${block(f)}\nIt prints:\n${block("2", "")}`, f],
    ["output in another language after it", `${block(f, "Python3.11")}\n${block("2", "text")}`, f],
    ["a mark with attributes", `${block(f, '{.python title="a.py"}')}\n${block("2", "text")}`, f],
    ["a draft before it", `${block("def f(x):\n    return x")}\nBetter:\n${block(f)}`, f],
    ["a draft that is cut off before it", `\`\`\`python\ndef f(\n\`\`\`\n${block(f)}`, f],
    ["an unmarked one before a marked one", `${block(f, "")}\n${block("f(1)")}`, f],
    ["a wrongly marked one before a marked one", `${block(f, "rust")}\n${block("f(1)")}`, f],
    ["a class", `${block("class f:\n    pass")}\n${block("f()")}`, "class f:\n    pass"],
    ["a variable", `${block("f = lambda x: x + 1")}\n${block("f(1)")}`, "f = lambda x: x + 1"],
    ["an annotated variable", `${block("f: Any = abs")}\n${block("f(1)")}`, "f: Any = abs"],
    ["an async function", `${block("async def f(x): return x")}\n${block("await f(1)")}`, "async def f(x): return x"],
    ["a longer name is another one", `${block(f)}\n${block("def f2(x): return x")}`, f],
    ["a comparison is no definition", `${block(f)}\n${block("f == 1")}`, f],
  ])("%s", (_, text, code) => expect(python(text, "f")).toBe(code));

  it.each([
    ["imports", "import math as m\nfrom os import (path,\n  sep)", "def f(x):\n    return m.floor(x) + len(sep)"],
    ["a helper", "def one():\n    return 1", "def f(x):\n    return x + one()"],
    ["a constant", "ONE: int = 1", "def f(x):\n    return x + ONE"],
    ["a decorated class", "@dataclass\nclass One:\n    x: int", "def f(x):\n    return One(x)"],
  ])("%s in a block before or after it", (_, helper, code) => {
    for (const text of [`${block(helper)}\nThen:\n${block(code)}`, `${block(code)}\nwith\n${block(helper)}`]) {
      expect(python(`${text}\n${block("print(f(1))")}`, "f")).toBe(`${helper}\n\n${code}`);
    }
  });

  it("a helper's helper, and not what nothing uses", () => {
    const parts = ["import math", "def two():\n    return math.pi", "def one():\n    return two()"].map((part) =>
      block(part),
    );
    const code = "def f(x):\n    return one()";
    const text = [...parts, block("def three():\n    return 3"), block(code)].join("\n");
    expect(python(text, "f")).toBe(
      "import math\n\ndef two():\n    return math.pi\n\ndef one():\n    return two()\n\ndef f(x):\n    return one()",
    );
  });

  it("no block that does more than to define something", () => {
    expect(python(`${block("one = 1\nprint(one)")}\n${block("def f(x):\n    return one")}`, "f")).toBe(
      "def f(x):\n    return one",
    );
  });

  it("each name from its last block, if no block has all of them", () => {
    const text = [block("def a(self):\n    pass"), block("  def b(self):\n    return 1"), block("a(1)")].join("\n");
    expect(python(text, "a", "b")).toBe("def a(self):\n    pass\n\ndef b(self):\n  return 1");
  });

  it.each([
    ["indented by 2", `1. Here:\n  \`\`\`python\n  def f(x):\n      return x + 1\n  \`\`\``, f],
    ["indented by 4", `1.  Here:\n\n    \`\`\`python\n    def f(x):\n        return x + 1\n    \`\`\``, f],
    ["indented by a tab", "-\t```python\n\tdef f(x):\n\t    return x + 1\n\t```".replace("-\t", "\t"), f],
    ["indented, around code that is not", `   \`\`\`python\n${f}\n   \`\`\``, f],
    ["with words after the closing one", `\`\`\`python\n${f}\n\`\`\` That is it.\nBye.`, f],
    ["that closes only", `${f}\n\`\`\``, f],
    ["that closes only, with words after it", `${f}\n\`\`\`\nThis adds one.`, f],
    ["that opens at the end of a line", `Here it is: \`\`\`python\n${f}\n\`\`\``, f],
    ["that closes at the end of a line", `\`\`\`python\n${f}\`\`\`\nThis adds one.`, f],
  ])("fences: %s", (_, text, code) => expect(python(text, "f").trim()).toBe(code));

  it.each([
    ["function f(x) { return x + 1; }", "console.log(f(1));"],
    ["const f = (x) => x + 1;", "const f = require('./f');\nf(1);"],
    ["exports.f = (x) => x + 1;", "console.assert(f(1) === 2)"],
    ["export async function* f(x) { yield x; }", "for await (const x of f(1)) console.log(x)"],
  ])("JavaScript: %s", (code, usage) => {
    const text = `${block(code, "js")}\n${block(usage, "JavaScript")}`;
    expect(replyCode(text, { language: "javascript", names: ["f"] })).toBe(code);
  });

  it("JavaScript: imports and helpers in blocks of their own", () => {
    const parts = ["const { floor } = Math;", "import fs, { join as j } from 'fs';", "const one = () => floor(1.5);"];
    const code = "function f(x) { return j(x, one()); }";
    const text = [...parts, code, "f(1);"].map((part) => block(part, "js")).join("\n\n");
    expect(replyCode(text, { language: "javascript", names: ["f"] })).toBe([...parts, code].join("\n\n"));
  });
});

describe("replies with more than the solution", () => {
  const usage = block("print(f(1))");
  it.each([
    [
      "a test class with a method of the name",
      block("class TestF(unittest.TestCase):\n    def f(self):\n        pass"),
    ],
    ["a checker with a method of the name", block("class Checker:\n    def f(self):\n        return 0")],
    ["a test function around the name", block("def test_it():\n    def f(x):\n        return 0\n    assert f(1)")],
    ["a name in a branch", block("if True:\n    def f(x): return 0\nprint(f(1))")],
    ["a wrapper of another function", block("def main():\n    def f(x): return 0\n    print(f(1))")],
  ])("%s is not the definition", (_, later) => expect(python(`${block(f)}\n${later}`, "f")).toBe(f));

  it.each([
    ["a nested definition, if there is no other", "class Solution:\n    def f(self, x):\n        return x", usage],
    [
      "a method",
      "class Solution:\n    def f(self, x):\n        return x",
      block("class TestSolution:\n    def f(self): pass"),
    ],
  ])("%s", (_, code, later) => expect(python(`${block(code)}\n${later}`, "f")).toBe(code));

  it("methods count wherever they are, but not in tests", () => {
    const whole = "class A:\n    def f(self):\n        return 1";
    const text = `${block("def f(self):\n    pass")}\n${block(whole)}\n${block("class TestA:\n    def f(self): pass")}`;
    expect(replyCode(text, { language: "python", names: ["f"], methods: true })).toBe(whole);
  });

  it.each([
    ["an import of all names", "from math import *"],
    ["several of them", "import re\nfrom math import *\nfrom itertools import *"],
    ["an import with a substitute", "try:\n    import m\nexcept ImportError:\n    import math as m"],
    ["a substitute of nothing", "try:\n    import numpy as m\nexcept ImportError:  # optional\n    m = None"],
    ["imports over several lines", "try:\n    from m import (\n        m,\n    )\nexcept ImportError:\n    m = None"],
    ["an import for types", "if TYPE_CHECKING:\n    import m"],
    ["one of a version", "if sys.version_info >= (3, 11):\n    import m\nelse:\n    import tomli as m"],
  ])("%s is added", (_, helper) => {
    const code = "def f(x):\n    return m.floor(x)";
    for (const text of [`${block(helper)}\n${block(code)}`, `${block(code)}\n${block(helper)}`]) {
      expect(python(`${text}\n${usage}`, "f")).toBe(`${helper}\n\n${code}`);
    }
  });

  it.each([
    "from solution import *",
    "from your_module import *\nimport re",
    "from . import *",
    "from math import *\nprint(pi)",
    "try:\n    f(1)\nexcept ValueError:\n    x = 1",
    "if __name__ == '__main__':\n    print(f(1))",
  ])("%j is not added", (other) => expect(python(`${block(f)}\n${block(other)}`, "f")).toBe(f));

  it("what only the tests use is added, with what it uses", () => {
    const parts = ["class Base:\n    pass", "class Pair(Base):\n    pass", f];
    const text = `${parts.map((part) => block(part)).join("\n")}\n${usage}\n${block("class Other:\n    pass")}`;
    const request = { language: "python", names: ["f"] } as const;
    expect(replyCode(text, { ...request, usedBy: "assert f(Pair(1, 2)) == 1" })).toBe(parts.join("\n\n"));
    expect(replyCode(text, request)).toBe(f);
  });

  it.each([
    ["a list of exports", "function f(x) { return x; }", "module.exports = { f };"],
    ["a list over several lines", "const f = (x) => x;", "module.exports = {\n  g,\n  f,\n};"],
    ["an export of one name", "function f(x) { return x; }", "exports.f = f;"],
    ["an export with another name", "function f(x) { return x; }", "module.exports = { f: f };"],
    ["a default export", "function f(x) { return x; }", "module.exports = f;"],
    [
      "an import of it",
      "module.exports.f = function (x) { return x; };",
      "const { f } = require('./solution');\nf(1);",
    ],
    ["a function in exports", "module.exports = { f: (x) => x };", "const { f } = require('./f');\nf(1);"],
    ["a method in exports", "module.exports = {\n  g() {},\n  f(x) { return x; },\n};", "console.log(f(1));"],
    ["a test class", "function f(x) { return x; }", "class TestF {\n  f() {}\n}"],
    ["a test function", "function f(x) { return x; }", "function test() {\n  const f = () => 1;\n}"],
  ])("JavaScript: %s is not the definition", (_, code, later) => {
    const text = `${block(code, "js")}\n${block(later, "js")}`;
    expect(replyCode(text, { language: "javascript", names: ["f"] })).toBe(code);
  });

  it("JavaScript: a helper that is exported", () => {
    const helper = "const one = () => 1;\nmodule.exports = { one };";
    const code = "function f(x) { return x + one(); }";
    const text = `${block(helper, "js")}\n${block(code, "js")}\n${block("f(1)", "js")}`;
    expect(replyCode(text, { language: "javascript", names: ["f"] })).toBe(`${helper}\n\n${code}`);
  });

  it.each([
    ["a quotation", "> "],
    ["one without blanks", ">"],
    ["one in a list", "  > "],
    ["a quotation in another", "> > "],
  ])("the code of %s", (_, mark) => {
    const quoted = block(`${f}\n\nx = 1 > 0`)
      .split("\n")
      .map((line) => (mark + line).trimEnd());
    expect(python(`Here:\n${quoted.join("\n")}\nBye. ${usage}`, "f").trim()).toBe(`${f}\n\nx = 1 > 0`);
    expect(python(`Here:\n${quoted.slice(0, -1).join("\n")}\n\nBye.`, "f").trim()).toBe(`${f}\n\nx = 1 > 0`);
    expect(python(`${mark}\`\`\`python\n${f}\n\`\`\`\nBye.`, "f")).toBe(f);
  });
});

const surroundings = fc.record({
  indent: fc.constantFrom("", " ", "  ", "   ", "    ", "\t"),
  mark: fc.constantFrom("python", "Python", "py", "python3", "", "python3.12", "{python}"),
  before: fc.constantFrom("", "Sure! Here it is:\n", `${block("def f(x):\n    return 0")}\nNo:\n`, "1. First\n"),
  after: fc.constantFrom("", " Done.", "\nDone.", `\n${block("print(f(1))")}`, `\nOutput:\n${block("2", "")}`),
  end: fc.constantFrom("\n", "\r\n"),
});

it("nothing around the block changes the code", () => {
  fc.assert(
    fc.property(surroundings, ({ indent, mark, before, after, end }) => {
      const lines = [`\`\`\`${mark}`, ...f.split("\n"), "```"].map((line) => indent + line);
      const reply = `${before}${lines.join("\n")}${after}`.replaceAll("\n", end);
      expect(python(reply, "f")).toBe(f);
    }),
  );
});

it("long replies that are built to be slow are read at once", () => {
  const long = 100_000;
  for (const text of [
    "import (".repeat(long / 8),
    `${"from a import (\n".repeat(long / 16)}`,
    block(`f${" ".repeat(long)}`),
    block("const {\n".repeat(long / 8)),
    `${"f\n\n\n".repeat(long / 4)}`,
    "```\n".repeat(long / 4),
    `${" ".repeat(long)}\`\`\`x`,
    `${block("x = f")}\n`.repeat(long / 20),
    `${block("from a import *")}\n`.repeat(long / 20),
    block("try:\n    import a\n".repeat(long / 20)),
    block("module.exports = {\n".repeat(long / 20)),
    block("class A:\n    def g(self): pass\n".repeat(long / 30)),
    "> ".repeat(long / 2),
    "> ```\n".repeat(long / 6),
  ]) {
    expect(python(text, "f", "g").length).toBeLessThanOrEqual(text.length);
  }
});

const javascript = (text: string, ...names: string[]): string => replyCode(text, { language: "javascript", names });

describe("a definition without an implementation counts only if there is no other", () => {
  it.each([
    "def f(x): ...",
    "def f(x):\n    ...",
    "def f(x): pass",
    "def f(x):\n    pass  # your code",
    'def f(x):\n    """Adds one."""',
    'def f(x):\n    """Adds one.\n\n    def f(x): return 2\n    """',
    "def f(x):\n    '''Adds one.'''\n    ...",
    'def f(x):\n    "Adds one."\n    pass',
    "def f(x):\n    raise NotImplementedError",
    "def f(x):\n    # as above\n    raise NotImplementedError('later')",
    "def f(\n    x: dict[str, int],\n) -> dict[str, int]:\n    ...",
    "async def f(x): ...",
    "class f: ...",
    "class f:\n    pass",
    "@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...",
  ])("%j after or before it", (stub) => {
    for (const text of [`${block(f)}\nIt has the form\n${block(stub)}`, `${block(stub)}\nIt is\n${block(f)}`]) {
      expect(python(text, "f")).toBe(f);
    }
    expect(python(`${block(stub)}\nUsage:\n${block("print(f(1))")}`, "f")).toBe(stub);
  });

  it.each([
    '"""\ndef f(x): return 2\n"""\nprint(f(1))',
    "'''Usage:\ndef f(x):\n    return 2\n'''",
    's = """\nclass f:\n    x = 1\n"""',
    "# Don't write\n# def f(x): return 2\nf(1)",
  ])("a text with a definition is none: %j", (later) => {
    expect(python(`${block(f)}\n${block(later)}`, "f")).toBe(f);
  });

  it.each([
    "def f(x): return ...",
    "def f(x):\n    x.pop()",
    'def f(x): return "pass"',
    'def f(x):\n    """Adds one."""\n    return x + 1',
    "def f(x, y={1: 2}): return y[x]",
    "class f:\n    def g(self): pass",
    "f = lambda x: ...",
    "def f(x):\n    # def f(x): ...\n    yield",
  ])("%j is an implementation", (code) => {
    expect(python(`${block("def f(x): return 0")}\n${block(code)}`, "f")).toBe(code);
  });

  it.each([
    "function f(x) {}",
    "function f(x) {\n  // ...\n}",
    "const f = (x) => {};",
    "function f(x) { ... }",
    "async function f(x) {\n  throw new Error('Not implemented');\n}",
    "function f(x: number): number;",
    "export function f(x) { /* see above */ }",
  ])("%j after it, in JavaScript", (stub) => {
    const whole = "function f(x) {\n  return x + 1;\n}";
    expect(javascript(`${block(whole, "js")}\n${block(stub, "js")}`, "f")).toBe(whole);
  });

  it.each([
    "const f = (x) => ({});",
    "const f = {};",
    "function f(x) { return {}; }",
    "function f(x) { throw new RangeError('x'); }",
    "const f = (x) => x;",
    "/* function f(x) {} */\nconst f = (x) => 1;",
  ])("%j is an implementation, in JavaScript", (code) => {
    expect(javascript(`${block("function f(x) { return 0; }", "js")}\n${block(code, "js")}`, "f")).toBe(code);
  });

  it("of several names, each has its implementation, and it replaces the stub", () => {
    const second = "def g(x):\n    return x\n\ndef f(x): ...";
    const text = [block("def f(x): ...\ndef g(x): ..."), block(f), block(second)].join("\n");
    expect(python(text, "f", "g")).toBe(`${second}\n\n${f}`);
    expect(python(block("def f(x): ...\ndef g(x): ..."), "f", "g")).toBe("def f(x): ...\ndef g(x): ...");
  });
});

describe("helpers in branches", () => {
  it.each([
    "try:\n    from math import isqrt as one\nexcept ImportError:\n    def one(n):\n        return int(n ** 0.5)",
    "try: from m import one\nexcept ImportError: one = None",
    "try:\n    import one\nexcept (ImportError, OSError) as e:\n    class one:\n        pass",
    "from contextlib import suppress\nwith suppress(ImportError):\n    import one",
    "import contextlib\nwith contextlib.suppress(ImportError):\n    from m import one",
    "with suppress(ImportError): import one",
    "try:\n    import one\nexcept ImportError: one = None",
    "try:\n    from m import one\nexcept ImportError:\n    @cache\n    def one():\n        return 1",
    "if TYPE_CHECKING: from m import one",
    'try:\n    import one\nexcept ImportError:\n    """It is absent."""\n    one = None',
  ])("%j", (helper) => {
    const code = "def f(x):\n    return one(x)";
    const text = `${block(helper)}\nThen:\n${block(code)}\n${block("print(f(1))")}`;
    expect(python(text, "f")).toBe(`${helper}\n\n${code}`);
  });

  it.each([
    "try: one(f(1))\nexcept ValueError: print(1)",
    "with open('a') as one:\n    one.read()",
    "try:\n    one = f(1)\n    print(one)\nexcept ValueError:\n    pass",
    "with suppress(ValueError):\n    print(f(1))",
  ])("%j is a usage", (usage) => {
    const code = "def f(x):\n    return one(x)";
    expect(python(`${block(usage)}\n${block(code)}`, "f")).toBe(code);
  });
});

describe("exports by a name in brackets", () => {
  it.each([
    "exports['f'] = function (x) { return x; };",
    'module.exports["f"] = (x) => x;',
    "exports[`f`] = (x) => x;",
    "exports.f = (x) => x;",
  ])("%j", (code) => {
    const draft = block("function f() { return 0; }", "js");
    expect(javascript(`${draft}\n${block(code, "js")}\n${block("console.log(f(1))", "js")}`, "f")).toBe(code);
    const use = "function g(x) { return f(x); }";
    expect(javascript(`${block(code, "js")}\n${block(use, "js")}`, "g")).toBe(`${code}\n\n${use}`);
  });

  it.each(["exports['f'] = f;", "exports['g'] = 1;", "exports['f'] === f"])("%j is no definition", (later) => {
    const code = "function f(x) { return x; }";
    expect(javascript(`${block(code, "js")}\n${block(later, "js")}`, "f")).toBe(code);
  });
});
