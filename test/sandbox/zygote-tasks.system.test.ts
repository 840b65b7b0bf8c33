import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExecuteTask, PlainValue, Sandbox } from "../../sandbox/index.ts";
import { calls, int, runPython, zygoteBackends } from "./zygote-backends.ts";

describe.each(zygoteBackends)("$name", ({ open, missing }) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (missing === undefined) sandbox = await open({ workers: 1 });
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  describe.skipIf(missing !== undefined)("tasks", () => {
    test("calls: values, errors, output and changed arguments are observed", async () => {
      const code = ["print('loaded')", "def f(items):", "    items.append(3)", "    return 6 / items[0]"].join("\n");
      const result = await runPython(sandbox, {
        code,
        task: calls("f", [{ list: [int(2)] }], [{ list: [int(0)] }], ["no list"]),
      });
      expect(result).toMatchObject({ status: "ok", exit: { code: 0, signal: null }, integrity: { nonceOk: true } });
      expect(result.stdout).toEqual({ text: "loaded\n", bytes: 7, truncated: false });
      expect(result.cases).toMatchObject([
        {
          index: 0,
          outcome: "returned",
          value: { float: "3.0" },
          changedArgs: [{ list: [int(2), int(3)] }],
        },
        { index: 1, outcome: "raised", error: { type: "ZeroDivisionError", line: 4 } },
        { index: 2, outcome: "raised", error: { type: "AttributeError", line: 3 } },
      ]);
      expect(result.cases[2]).not.toHaveProperty("changedArgs");
    });

    test.each<[string, PlainValue]>([
      ["None", null],
      ["True", true],
      ["1", int(1)],
      ["-10**40", int(-(10n ** 40n))],
      ["2.0", { float: "2.0" }],
      ["-0.0", { float: "-0.0" }],
      ["float('nan')", { float: "nan" }],
      ["float('-inf')", { float: "-inf" }],
      ["'a\\0\\ud800é'", "a\0\ud800é"],
      ["b'\\xff\\0'", { bytes: "/wA=" }],
      ["(1, [2])", { tuple: [int(1), { list: [int(2)] }] }],
      [
        "{'b': 1, 'a': 2}",
        {
          dict: [
            ["b", int(1)],
            ["a", int(2)],
          ] as const,
        },
      ],
      ["{1}", { set: [int(1)] }],
      ["frozenset()", { frozenset: [] }],
      ["1j", { complex: ["0.0", "1.0"] }],
      ["__import__('collections').Counter('aa')", { dict: [["a", int(2)]] as const }],
    ])("calls: %s is returned with its type", async (expression, expected) => {
      const code = `def f(given):\n    return [${expression}, given]`;
      const { status, cases } = await runPython(sandbox, { code, task: calls("f", [expected]) });
      expect(status).toBe("ok");
      expect(cases[0]!.value).toEqual({ list: [expected, expected] });
    });

    test.each([
      ["type('L', (list,), {'__iter__': lambda self: iter([7])})([1])", { list: [int(1)] }],
      ["type('I', (int,), {'__pos__': lambda self: 7, '__str__': lambda self: '7'})(3)", int(3)],
      ["type('S', (str,), {'__iter__': lambda self: iter('no'), '__len__': lambda self: 7})('a')", "a"],
      ["type('D', (dict,), {'items': lambda self: []})(a=1)", { dict: [["a", int(1)]] as const }],
      ["__import__('enum').IntEnum('Color', 'RED').RED", int(1)],
      ["__import__('fractions').Fraction(1, 2)", { float: "0.5" }],
      ["__import__('decimal').Decimal('4.00')", int(4)],
      ["{'a': 1}.keys()", { set: ["a"] }],
    ])("calls: %s is returned as the plain value that it equals", async (expression, expected) => {
      const result = await runPython(sandbox, { code: `def f(): return ${expression}`, task: calls("f", []) });
      expect(result.cases).toMatchObject([{ outcome: "returned", value: expected }]);
    });

    test.each([
      "__import__('fractions').Fraction(1, 3)",
      "__import__('decimal').Decimal('NaN')",
      "__import__('enum').Enum('Color', 'RED').RED",
      "object()",
      "lambda: 1",
      "range(3)",
      "[object()]",
    ])("calls: %s is not a plain value", async (expression) => {
      const result = await runPython(sandbox, { code: `def f(): return ${expression}`, task: calls("f", []) });
      expect(result).toMatchObject({ status: "ok", cases: [{ outcome: "unsupported" }] });
      expect(result.cases[0]).not.toHaveProperty("value");
    });

    test("calls: state is kept between cases, unless each case has its own process", async () => {
      const code = "n = 0\ndef f():\n    global n\n    n += 1\n    return n";
      const task = calls("f", [], [], []) as ExecuteTask & { kind: "calls" };
      const together = await runPython(sandbox, { code, task });
      const apart = await runPython(sandbox, { code, task: { ...task, isolate: "case" } });
      expect(together.cases.map(({ value }) => value)).toEqual([int(1), int(2), int(3)]);
      expect(apart.cases.map(({ value }) => value)).toEqual([int(1), int(1), int(1)]);
      expect(apart.cases.map(({ index }) => index)).toEqual([0, 1, 2]);
    });

    test("calls: methods, keyword arguments and other files", async () => {
      const code = "from helper import double\nclass A:\n    def f(self, x, *, y): return double(x) + y";
      const files = {
        "helper.py": "from pack.inner import two\ndef double(x): return two * x",
        "pack/inner.py": "two = 2",
      };
      const task: ExecuteTask = {
        kind: "calls",
        function: "A.f",
        cases: [{ args: [int(3)], kwargs: { y: int(1) } }],
      };
      const { cases } = await runPython(sandbox, { code, files, task });
      expect(cases[0]!.value).toEqual(int(7));
    });

    test.each([
      ["does not parse", "def f(:", "SyntaxError"],
      ["raises while it is loaded", "x = 1\nraise KeyError('no')", "KeyError"],
      ["lacks the function", "def g(): pass", "AttributeError"],
      ["exits while it is loaded", "import sys; sys.exit(0)", "SystemExit"],
    ])("code that %s is a load_error", async (_, code, type) => {
      const result = await runPython(sandbox, { code, task: calls("f", []) });
      expect(result).toMatchObject({ status: "load_error", cases: [{ outcome: "missing" }], error: { type } });
    });

    test("program: each input has its own process, and the output is the value", async () => {
      const code = "import sys\nprint(len(sys.stdin.read()), __name__)\nif sys.argv[1:]: pass";
      const task: ExecuteTask = { kind: "program", stdin: ["abc", "", "é\n"] };
      const { status, cases, stdout } = await runPython(sandbox, { code, task });
      expect(status).toBe("ok");
      expect(cases.map(({ value }) => value)).toEqual(["3 __main__\n", "0 __main__\n", "2 __main__\n"]);
      expect(stdout.text).toBe("");
    });

    test.each([
      ["import sys\nprint(1)\nsys.exit(3)", "raised", "exit code 3"],
      ["import os\nprint(1, flush=True)\nos._exit(4)", "raised", "exit code 4"],
      ["print(1)\n1/0", "raised", "division by zero"],
      ["import sys\nprint(1)\nsys.exit(0)", "returned", undefined],
      ["import os\nprint(1, flush=True)\nos._exit(0)", "returned", undefined],
      [
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.05), print(1))).start()",
        "returned",
        undefined,
      ],
    ] as const)("program: %j", async (code, outcome, message) => {
      const { status, cases } = await runPython(sandbox, { code, task: { kind: "program", stdin: [""] } });
      expect(status).toBe("ok");
      expect(cases[0]).toMatchObject({ outcome, value: "1\n" });
      expect(cases[0]!.error?.message).toBe(message);
    });

    test("judge: tests see stand-ins, and their assertions are decided in another process", async () => {
      const code = [
        "class Box:",
        "    def __init__(self, items): self.items = items",
        "    def total(self): return sum(self.items)",
        "def add(items, item): items.append(item); return Box(items)",
        "def fail(): raise KeyError('k')",
      ].join("\n");
      const tests = [
        "box = add([1], 2)\nassert box.total() == 3 and box.items == [1, 2] and isinstance(box, Box)",
        "items = []\nadd(items, 5)\nassert items == [5]",
        "assert add([], 1).total() == 2, 'wrong'",
        "fail()",
        "try:\n    fail()\nexcept KeyError:\n    pass",
        "assert helper() == 12",
      ];
      const setup = "def helper(): return Box([12]).total()";
      const task: ExecuteTask = { kind: "judge", setup, tests, exports: ["Box", "add", "fail"] };
      const { status, cases } = await runPython(sandbox, { code, task });
      expect(status).toBe("ok");
      expect(cases.map(({ outcome, error }) => error?.type ?? outcome)).toEqual([
        "returned",
        "returned",
        "AssertionError",
        "KeyError",
        "returned",
        "returned",
      ]);
      expect(cases[2]!.error!.message).toBe("wrong");
    });

    test("judge: values of the standard library are copied in both directions, and other objects become stand-ins", async () => {
      const code = [
        "import collections, datetime, decimal, fractions",
        "def same(x): return x",
        "def kinds(x): return type(x).__name__",
        "class Any:",
        "    def __eq__(self, other): return True",
        "    __hash__ = None",
        "def any(): return Any()",
      ].join("\n");
      const values = [
        "datetime.datetime(2020, 1, 2, 3, 4, 5, 6)",
        "datetime.date(2020, 1, 2)",
        "datetime.timedelta(1, 2, 3)",
        "decimal.Decimal('1.10')",
        "fractions.Fraction(1, 3)",
        "collections.deque([1, (2,)], 5)",
        "range(1, 9, 3)",
        "str",
        "{'a': [int, datetime.time(1)]}",
      ];
      const tests = [
        ...values.map((value) => `assert same(${value}) == ${value} and kinds(${value}) == type(${value}).__name__`),
        "assert any() == datetime.date(2020, 1, 2)",
        "assert any() == any()",
      ];
      const setup = "import collections, datetime, decimal, fractions";
      const task: ExecuteTask = { kind: "judge", setup, tests, exports: ["same", "kinds", "any"] };
      const { cases } = await runPython(sandbox, { code, task });
      expect(cases.map(({ outcome }) => outcome)).toEqual([...values.map(() => "returned"), "raised", "raised"]);
    });

    test("judge: both sides work on the same files", async () => {
      const code = "def append(path):\n    with open(path, 'a') as f: f.write('2')\n    return open(path).read()";
      const tests = ["open('x.txt', 'w').write('1')\nassert append('x.txt') == '12'\nimport os\nos.remove('x.txt')"];
      const { cases } = await runPython(sandbox, { code, task: { kind: "judge", tests, exports: ["append"] } });
      expect(cases).toMatchObject([{ outcome: "returned" }]);
    });

    test("judge: the candidate sees a test's changes of an attribute's list, dict or set", async () => {
      const code = [
        "class Shop:",
        "    def __init__(self): self.items, self.prices, self.open, self.name = [], {}, set(), 'a'",
        "    def state(self): return [self.items, self.prices, sorted(self.open), id(self.items)]",
        "    @property",
        "    def copy(self): return list(self.items)",
      ].join("\n");
      const tests = [
        "shop = Shop()\nbefore = shop.state()[3]",
        "shop.items.append(1)\nshop.prices['b'] = {'c': [2]}\nshop.open.add(3)",
        "assert shop.state() == [[1], {'b': {'c': [2]}}, [3], before]",
        "shop.prices['b']['c'].append(4)\nassert shop.prices == {'b': {'c': [2, 4]}}",
        "shop.copy.append(5)\nassert shop.items == [1]",
        "items = shop.items\nshop.items = [7]\nassert shop.items == [7]",
        "shop.items.append(object())\nshop.state()",
      ];
      const { cases } = await runPython(sandbox, { code, task: { kind: "judge", tests, exports: ["Shop"] } });
      expect(cases.map(({ outcome, error }) => error ?? outcome)).toEqual([
        ...tests.slice(0, -1).map(() => "returned"),
        expect.objectContaining({ type: "TypeError" }),
      ]);
    });

    test("judge: NumPy arrays are copied if NumPy is installed", async ({ skip }) => {
      if (!sandbox.info.packages.includes("numpy")) skip();
      const code = "import numpy as np\ndef double(a): return a * 2\ndef objects(): return np.array([object()])";
      const tests = [
        "import numpy as np\na = double(np.array([[1, 2], [3, 4]], 'float32'))",
        "assert a.dtype == 'float32' and (a == [[2, 4], [6, 8]]).all() and type(a) is np.ndarray",
        "assert type(objects()) is not np.ndarray",
      ];
      const task: ExecuteTask = { kind: "judge", tests, exports: ["double", "objects"] };
      const { cases } = await runPython(sandbox, { code, task });
      expect(cases.map(({ outcome, error }) => error ?? outcome)).toEqual(tests.map(() => "returned"));
    });

    test("judge: XML elements are copied without the text that follows them", async () => {
      const code = [
        "import xml.etree.ElementTree as ET",
        "def second(root): return root.findall('b')[1]",
        "def tags(root): return [child.tag for child in root]",
      ].join("\n");
      const tests = [
        "import xml.etree.ElementTree as ET\nroot = ET.fromstring('<a><b>1</b> x <b c=\"d\">2</b> tail </a>')",
        "assert tags(root) == ['b', 'b']",
        "b = second(root)\nassert (b.tag, b.text, b.attrib) == ('b', '2', {'c': 'd'})",
      ];
      const { status, cases } = await runPython(sandbox, {
        code,
        task: { kind: "judge", tests, exports: ["second", "tags"] },
      });
      expect(status).toBe("ok");
      expect(cases.map(({ outcome, error }) => error ?? outcome)).toEqual(tests.map(() => "returned"));
    });

    test("judge: both sides can write to one SQLite database", async () => {
      const code = [
        "import sqlite3",
        "def run(path, line):",
        "    with sqlite3.connect(path) as base: base.execute(line)",
      ].join("\n");
      const here = code.replace("run", "mine");
      const tests = ["x.db", "y.db"].map((path, i) =>
        [
          ...(i === 0 ? [`mine('${path}', 'create table t (n)')`] : [`run('${path}', 'create table t (n)')`]),
          `run('${path}', 'insert into t values (1)')`,
          `mine('${path}', 'insert into t values (2)')`,
          `assert list(sqlite3.connect('${path}').execute('select n from t')) == [(1,), (2,)]`,
        ].join("\n"),
      );
      const task: ExecuteTask = { kind: "judge", setup: here, tests, exports: ["run"] };
      const { cases } = await runPython(sandbox, { code, task });
      expect(cases.map(({ outcome, error }) => error ?? outcome)).toEqual(["returned", "returned"]);
    });

    test("judge: code that cannot be loaded or lacks an export is a load_error", async () => {
      const task: ExecuteTask = { kind: "judge", tests: ["assert f() == 1"], exports: ["f"] };
      for (const code of ["def f(:", "1/0", "g = 1"]) {
        const result = await runPython(sandbox, { code, task });
        expect(result).toMatchObject({ status: "load_error", cases: [{ outcome: "missing" }] });
      }
    });

    test("script: returns how it ended", async () => {
      const task: ExecuteTask = { kind: "script", integrity: "inline", stdin: "x" };
      const good = await runPython(sandbox, { code: "print(input())", task });
      const bad = await runPython(sandbox, { code: "assert 1 == 2, 'no'", task });
      expect(good).toMatchObject({ status: "ok", cases: [{ outcome: "returned" }], stdout: { text: "x\n" } });
      expect(bad).toMatchObject({ status: "ok", cases: [{ outcome: "raised", error: { message: "no" } }] });
      expect(bad.stderr.text).toContain("AssertionError: no");
    });

    test("random numbers follow the seed, and hashes never change", async () => {
      const code = "import random\ndef f(): return [random.random(), hash('a')]";
      const values = [];
      for (const seed of [1, 1, 2]) values.push((await runPython(sandbox, { code, task: calls("f", []), seed })).cases);
      const [a, b, c] = values.map((cases) => JSON.stringify(cases[0]!.value));
      expect(a).toBe(b);
      expect(a).not.toBe(c);
    });
  });
});
