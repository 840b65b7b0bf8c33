import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { readBenchmarkRows } from "../../environments/shared/code-benchmarks/benchmark-row.ts";
import { isAsExpected } from "../../sandbox/grading/comparator.ts";
import { compilePythonAsserts, compilePythonCheck } from "../../sandbox/grading/python/compile-python-tests.ts";
import { readPythonAssert } from "../../sandbox/grading/python/python-assert.ts";
import { pythonConstant } from "../../sandbox/grading/python/python-constant.ts";
import { parsePythonExpression } from "../../sandbox/grading/python/python-expression.ts";
import { calledNames, missingImports } from "../../sandbox/grading/python/python-names.ts";
import { readPythonStatements } from "../../sandbox/grading/python/python-statements.ts";
import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";
import type { CallTest } from "../../sandbox/grading/test-suite.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { deepEqual } from "../../sandbox/plain-value-deep-equality.ts";
import { showPlainValue } from "../../sandbox/plain-value-text.ts";
import { sampleOf } from "../tier.ts";
import { benchmarkFile, noBenchmarkData } from "./benchmark-data.ts";
import { pythonValue } from "./plain-value-arbitraries.ts";
import { type PythonOracle, startPythonOracle } from "./python-oracle.ts";

let python: PythonOracle;
beforeAll(async () => {
  python = await startPythonOracle();
});

/** Returns the constant of a whole source. Undefined if it is not a constant. */
function constantOf(source: string): PlainValue | undefined {
  const lines = readLogicalLines(source);
  if (lines?.length !== 1) return undefined;
  const parsed = parsePythonExpression(lines[0]!.tokens);
  return parsed?.length === lines[0]!.tokens.length ? pythonConstant(parsed.expression) : undefined;
}

/** Returns Python's value of each source. Null if it raises or the value is not plain. */
function evaluated(sources: readonly string[]): ({ readonly value: PlainValue } | null)[] {
  const program = `
import warnings
warnings.simplefilter("ignore")
def one(source):
    try:
        return {"value": encode(eval(source, {}))}
    except BaseException:
        return None
def answer(sources): return [one(source) for source in sources]`;
  return python.ask(program, sources);
}

function expectAgreement(sources: readonly string[]): { readonly read: number } {
  let read = 0;
  for (const [i, inPython] of evaluated(sources).entries()) {
    const value = constantOf(sources[i]!);
    if (value === undefined) continue;
    read++;
    if (inPython === null || !deepEqual(value, inPython.value, { loose: false })) {
      expect.fail(`${sources[i]} is read as ${JSON.stringify(value)}, and is ${JSON.stringify(inPython)}`);
    }
  }
  return { read };
}

describe("constants", () => {
  it("have the value that Python gives them, for any value", () => {
    const values = fc.sample(pythonValue, { numRuns: 3_000, seed: 1 });
    const sources = values.map((value) => showPlainValue(value, { language: "python", maxLength: 1e9 }));
    const { read } = expectAgreement(sources);
    expect(read).toBeGreaterThan(1_000);
  });

  it("have the value that Python gives them, for any arithmetic", () => {
    const leaf = fc.constantFrom(
      "0",
      "1",
      "-1",
      "7",
      "2.5",
      "1e3",
      "True",
      "None",
      "'ab'",
      "[1, 2]",
      "(1,)",
      "()",
      "3j",
      "b'x'",
      "10**20",
      "1e308",
      "{1, 1.0, True}",
      "{1: 'a', True: 'b'}",
      "set()",
      "0.1",
      "-0.0",
      "12345678901234567890",
    );
    const { source: sources } = fc.letrec<{ source: string }>((tie) => ({
      source: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        leaf,
        fc
          .tuple(tie("source"), fc.constantFrom("+", "-", "*", "/", "//", "%"), tie("source"))
          .map(([left, operator, right]) => `(${left}) ${operator} (${right})`),
        fc
          .tuple(leaf, fc.constantFrom("+", "-", "*", "/", "//", "%"), leaf, fc.constantFrom("+", "*", "-"), leaf)
          .map((parts) => parts.join(" ")),
        fc.tuple(leaf, fc.constantFrom("0", "3", "-1", "2 ** 2", "True", "'a'")).map(([a, b]) => `(${a}) ** ${b}`),
        fc.tuple(fc.constantFrom("-", "+", "~", "- -", "not "), tie("source")).map(([sign, of]) => `${sign}(${of})`),
        fc
          .tuple(fc.constantFrom("set", "tuple", "list", "frozenset", "float", "dict", "len"), tie("source"))
          .map(([name, argument]) => `${name}(${argument})`),
        fc.array(tie("source"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
        fc.array(tie("source"), { maxLength: 3 }).map((items) => `{${items.join(", ")},}`),
        fc.array(fc.tuple(leaf, tie("source")), { maxLength: 3 }).map((e) => `{${e.map((p) => p.join(": ")).join()}}`),
      ),
    }));
    const { read } = expectAgreement(fc.sample(sources, { numRuns: 6_000, seed: 2 }));
    expect(read).toBeGreaterThan(1_500);
  });

  const literals = [
    "0x_ff",
    "0b1_0",
    "0o17",
    "1_000",
    "00",
    "007",
    "1.",
    ".5",
    "1e-7",
    "1E5",
    "1_0.0_1",
    "5j",
    "1e400",
    "-1e400",
    "1__0",
    "'a' 'b'",
    "'a' b'b'",
    "r'\\n'",
    "'\\n'",
    "'\\x41\\101\\u0041\\U0001F600'",
    "'\\N{BULLET}'",
    "'\\q'",
    "'\\ud83d\\ude00'",
    "'''a\nb'''",
    '"""a"b\\""""',
    "'a\\\nb'",
    "b'\\xff\\u0041'",
    "rb'\\x00'",
    "Rb'x'",
    "bR'x'",
    "u'x'",
    "ur'x'",
    "f'{1}'",
    "rf'x'",
    "b'é'",
    "'\\400'",
    "b'\\777'",
    "'\\x4'",
    "'\\U00110000'",
    "(1)",
    "(1,)",
    "(1, 2,)",
    "()",
    "(,)",
    "[,]",
    "{,}",
    "[1 2]",
    "{1: 2, 3}",
    "{1, 2: 3}",
    "{**{}}",
    "[*[1]]",
    "-2 ** 2",
    "2 ** -1",
    "2 ** 3 ** 2",
    "-7 // 2",
    "-7 % 3",
    "7 % -3",
    "1 if True else 2",
    "1 and 2",
    "[x for x in []]",
    "1 < 2 < 3",
    "lambda: 1",
    "x",
    "x.y",
    "[1][0]",
    "1 .real",
    "...",
    "float('inf')",
    "float('-Infinity')",
    "float('nan')",
    "float(' nan ')",
    "float('1.5')",
    "float(2)",
    "float(10**400)",
    "float('infinit')",
    "set('abca')",
    "tuple('ab')",
    "list({1: 2})",
    "dict()",
    "dict({1: 2})",
    "dict([(1, 2)])",
    "set([[]])",
    "{[]}",
    "{(1, [])}",
    "{(1, 2), (1.0, 2)}",
    "{frozenset({1})}",
    "frozenset()",
    "set([1], [2])",
    "list(sep=1)",
    "1 | 2",
    "1 << 3",
    "~5",
    "~True",
    "-True",
    "+'a'",
    "-[1]",
    "not 1",
    "1 == 1",
    "2 + 3j",
    "3j - 2",
    "1 - 0j",
    "True + True",
    "'a' * 3",
    "3 * 'a'",
    "[0] * -1",
    "'a' * 1.0",
    "10 ** 5 * 1.0",
    "2 ** 64 * 0.5",
    "(2 ** 53 + 1) / 1",
    "7 / 2",
    "1 / 0",
    "1 // 0",
    "0.1 + 0.2",
    "5.5 // 2",
    "5.5 % 2",
    "2.0 ** 0.5",
    "1 @ 2",
    "yield",
    "await 1",
    "1;2",
    "1\n2",
    "1\\\n+2",
    "(1\n+2)",
    "'a\nb'",
    '"',
    "'''",
    "(",
    ")",
    "(]",
    "1 +",
    "* 2",
    "a := 1",
    "(a := 1)",
    "1,",
    "1, 2",
    "1 # one",
    "\f1",
    "$",
    "?",
    "!x",
    "1if 1else 2",
    "0xfor",
    "1_",
    "1__1",
    "0_7",
    "0b2",
    "1.e3",
    "1.5.5",
    "'\0'",
    "１",
    "é",
    "None",
    "True",
    "nan",
    "inf",
    "[1,,2]",
  ];
  it.each(literals)("agree with Python on %j, or are undefined", (source) => {
    expectAgreement([source]);
  });

  it("in common use are parsed", () => {
    const unread = literals.slice(0, 60).filter((source) => constantOf(source) === undefined);
    const inPython = evaluated(unread);
    // Expressions that Python can evaluate and that we do not, each for a reason.
    expect(unread.filter((_, i) => inPython[i] !== null)).toEqual([
      "1e400",
      "-1e400",
      "'\\N{BULLET}'",
      "'\\ud83d\\ude00'",
      "f'{1}'",
      "rf'x'",
      "{**{}}",
      "[*[1]]",
      "2 ** -1",
      "1 if True else 2",
      "1 and 2",
      "[x for x in []]",
    ]);
  });

  it("of great depth or size are undefined", () => {
    expect(constantOf("[".repeat(100_000))).toBeUndefined();
    expect(constantOf(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)).toBeUndefined();
    expect(constantOf(`${"-".repeat(50_000)}1`)).toBeUndefined();
    expect(constantOf(`${"not ".repeat(50_000)}1`)).toBeUndefined();
    expect(constantOf("9 ** 9 ** 9 ** 9")).toBeUndefined();
    expect(constantOf("'x' * 10 ** 12")).toBeUndefined();
    expect(constantOf("[[]] * 10 ** 12")).toBeUndefined();
  });
});

describe("statements", () => {
  const expectSameTree = (sources: readonly string[]): void => {
    const texts = sources.map((source) => readPythonStatements(source)?.map(({ text }) => text) ?? null);
    const program = `
import ast, warnings
warnings.simplefilter("ignore")
def one(source, texts):
    try:
        whole = ast.parse(source)
    except (SyntaxError, ValueError):
        return ""
    if texts is None:
        return "not read"
    parts = [ast.parse(text) for text in texts]
    if any(len(part.body) != 1 for part in parts):
        return "several in one"
    there = [ast.dump(statement) for statement in whole.body]
    here = [ast.dump(part.body[0]) for part in parts]
    return "" if there == here else "another tree"
def answer(pairs): return [one(*pair) for pair in pairs]`;
    const verdicts = python.ask<string[]>(
      program,
      sources.map((source, i) => [source, texts[i]]),
    );
    for (const [i, verdict] of verdicts.entries()) if (verdict !== "") expect.fail(`${verdict}: ${sources[i]}`);
  };

  it.each([
    "a = 1; b = 2\nc = 3;",
    "if x:\n  a\nelif y:\n  b\nelse:\n  c\nd",
    "try:\n a\nexcept E:\n b\nelse:\n c\nfinally:\n d\ne",
    "@a\n@b(1)\ndef f():\n  pass\nf()",
    "@a\nclass C:\n  @b\n  def f(self):\n    '''doc\nnot indented\n    '''\n    return 1\n\n  x = 1\ny",
    "for i in x:\n\n    # a comment\n# another\n    a\n  # and one more\nelse:\n    b\n",
    "while 1: break\nx",
    "if x: a; b\nc",
    "x = [\n1,\n  2]\ny = (3 +\n4)",
    "x = 1 + \\\n  2\ny",
    "def f():\n\tif a:\n\t\tb\n\treturn '''\n\tx'''\nz",
    "def f():\r\n  return 1\r\nx = 2\r\n",
    "x = 'a;b'; y = \"#\" # c; d\nz = '''\n;'''",
    "with a as b, c:\n  pass\nasync def f():\n  await x\n",
    "match x:\n  case 1:\n    a\n  case _:\n    b\nmatch = 1\n",
    "lambda: (yield)\nx = {1: 2}[1]\nx[1:2] = 3\nprint(f'{a}')\n",
    "x: int = 1\ny = a if b else c\nz = not a\n",
    "",
    "\n\n",
    "# only\n",
    "\ufeffx = 1\n",
    "x = 1\n\f\ny = 2",
    "if a:\n    b\n    if c:\n        d\n    else:\n        e\nf",
    "x = 1 if 2else 3",
  ])("are split like Python does: %j", (source) => {
    expectSameTree([source]);
  });

  it.skipIf(noBenchmarkData)("of every benchmark are split like Python does", async () => {
    const rows = await Promise.all(
      ["HumanEval.jsonl.gz", "mbpp.jsonl", "ClassEval_data.json"].map((name) => readBenchmarkRows(benchmarkFile(name))),
    );
    const fields = ["test", "code", "solution_code", "test_setup_code", "skeleton", "prompt"];
    const all = (rows.flat() as Record<string, unknown>[]).flatMap((row) =>
      fields.flatMap((field) => (typeof row[field] === "string" ? [row[field]] : [])),
    );
    expect(all.length).toBeGreaterThan(2_000);
    expectSameTree(sampleOf(all, 4));
  });
});

describe("asserts", () => {
  const testOf = (source: string): { readonly name: string; readonly test: CallTest } | undefined => {
    const statements = readPythonStatements(source);
    if (statements?.length !== 1) return undefined;
    const read = readPythonAssert(statements[0]!);
    return read?.kind === "call" ? { name: read.function, test: read.test } : undefined;
  };

  /** Runs each assert in Python on a function that returns each value, and compares the verdict with ours. */
  const expectSameVerdicts = (
    sources: readonly string[],
    values: (test: CallTest) => readonly PlainValue[],
  ): number => {
    const program = `
import math
from math import isclose
class Call(Exception): pass
def one(source, name, values):
    calls, verdicts = [], []
    def function(*args, **kwargs):
        calls.append([[encode(value) for value in args], {key: encode(value) for key, value in kwargs.items()}])
        return current
    for value in values:
        current = decode(value)
        try:
            exec(source, {"math": math, "isclose": isclose, name: function})
            verdicts.append(True)
        except (AssertionError, TypeError, OverflowError):
            verdicts.append(False)
    return calls, verdicts
def answer(questions): return [one(*question) for question in questions]`;
    const tests = sources.flatMap((source) => {
      const found = testOf(source);
      return found === undefined ? [] : [{ source, ...found, values: values(found.test) }];
    });
    const answers = python.ask<[[PlainValue[], Record<string, PlainValue>][], boolean[]][]>(
      program,
      tests.map(({ source, name, values }) => [source, name, values]),
    );
    for (const [i, { source, test, values }] of tests.entries()) {
      const [calls, verdicts] = answers[i]!;
      for (const [args, kwargs] of calls) {
        expect(deepEqual({ list: args }, { list: test.args }, { loose: false }), source).toBe(true);
        expect(Object.entries(kwargs)).toEqual(Object.entries(test.kwargs ?? {}));
      }
      for (const [j, got] of values.entries()) {
        const passed = isAsExpected({ got, language: "python", ...test });
        if (passed !== verdicts[j]) expect.fail(`${source}, on ${JSON.stringify(got)}: ${verdicts[j]} in Python`);
      }
    }
    return tests.length;
  };

  const probes: readonly PlainValue[] = [
    null,
    true,
    false,
    "",
    "a",
    { int: "0" },
    { int: "1" },
    { int: "2" },
    { float: "0.0" },
    { float: "1.0" },
    { list: [] },
    { float: "0.5" },
    { float: "nan" },
    { float: "inf" },
    { float: "2.0000001" },
    { float: "1.9999999" },
    { int: "3" },
    { tuple: [{ int: "1" }] },
    { list: [{ int: "1" }] },
    { set: [{ int: "1" }] },
    { dict: [] },
    { complex: ["2.0", "0.0"] },
    { bytes: "" },
    { float: "-2.0" },
  ];
  const forms = [
    "assert f(1) == 2",
    "assert f() == (1,)",
    "assert (f(1, [2])) == [1]",
    "assert(f('a')==1)",
    "assert 2 == f(1)",
    "assert f(a=1, b='x') == {1}",
    "assert f(1, k=[1]) == 2, 'message'",
    "assert f(1) == 2, f'{f(1)}'",
    "assert f(1) is True",
    "assert f(1) is None",
    "assert f(1) is False, 'no'",
    "assert f(1)",
    "assert not f(1)",
    "assert not (f(1))",
    "assert abs(f(1) - 2) < 1e-6",
    "assert abs(f(1) - 2.0) <= 1",
    "assert abs(f(1) - 2) < 1",
    "assert abs(2 - f(1)) < 1e-6",
    "assert math.fabs(f(1) - 1.5) < 0.5",
    "assert math.isclose(f(1), 2)",
    "assert math.isclose(f(1), 2, rel_tol=0.5)",
    "assert math.isclose(2.0, f(1), abs_tol=1e-6)",
    "assert isclose(f(1), 1)",
    "assert f(1) == float('inf')",
    "assert f(1) == float('nan')",
    "assert f(1) == 1 + 1",
    "assert f(-1, 2**3) == 1.0",
    "assert f(1) == ''",
    "assert f({1: 2}, {1, 2}, None) == 2",
  ];

  it.each(forms)("%j has Python's verdicts", (source) => {
    // A distance accepts complex numbers, and `close` does not.
    const isDistance = source.includes("abs(");
    const values = probes.filter((value) => !(isDistance && JSON.stringify(value).includes("complex")));
    expect(expectSameVerdicts([source], () => values)).toBe(1);
  });

  it.each([
    "assert f(1) == 2 3",
    "assert f(1) 'message'",
    "assert f(1) != 2",
    "assert f(1) == 2 == 2",
    "assert f(1) in [2]",
    "assert f(1) is 2",
    "assert f(1) is not None",
    "assert f(1) == x",
    "assert f(x) == 2",
    "assert f(1)[0] == 2",
    "assert f(1).a == 2",
    "assert a.f(1) == 2",
    "assert f(1) == f(1)",
    "assert (f(1) == 2, 'x')",
    "assert f(1) == 2 and f(2) == 3",
    "assert f(1) == 2 or True",
    "assert f(*[1]) == 2",
    "assert f(**{'a': 1}) == 2",
    "assert f(1) == 2 if x else 3",
    "assert [f(1)] == [2]",
    "assert f(1) > 2",
    "assert abs(f(1) - 2) > 1",
    "assert abs(f(1) - 2) < 0",
    "assert abs(f(1) - x) < 1",
    "assert abs(f(1)) < 1",
    "assert abs(f(1) + 2) < 1",
    "assert round(f(1), 2) == 2",
    "assert math.isclose(f(1), 2, rel_tol=x)",
    "assert True",
    "assert math.isclose(f(1), 2, rel_tol=-1)",
    "assert -f(1) == 2",
    "assert f(1) + 1 == 2",
    "assert f(lambda: 1) == 2",
    "f(1) == 2",
    "assert",
    "assert f(1) == 2 ; x",
    "assert f(1) == [x for x in y]",
    "assert (yield) == 2",
    "assert f(1) == 1 | 2",
    "assert f(1)(2) == 3",
    "assert await f(1) == 2",
    "assert f(i for i in x) == 2",
    "assert 1 == 1",
    "assert f == 1",
    "assert abs(f(1) - 'a') < 1",
    "assert f(a := 1) == 1",
    "assert f(1 if x else 2) == 2",
    "assert f(a=1, 2) == 2",
  ])("%j goes to the judge", (source) => {
    expect(testOf(source)).toBeUndefined();
  });

  it.skipIf(noBenchmarkData)("of MBPP have Python's verdicts", async () => {
    const rows = (await readBenchmarkRows(benchmarkFile("mbpp.jsonl"))) as { readonly test_list: string[] }[];
    const all = rows.flatMap(({ test_list }) => test_list);
    const sources = sampleOf(all, 4);
    const read = expectSameVerdicts(sources, ({ expected }) => [
      expected,
      { list: [expected] },
      ...(expected !== null && typeof expected === "object" && "list" in expected ? [{ tuple: expected.list }] : []),
      true,
      { int: "1" },
      { float: "0.0" },
    ]);
    expect(all.length).toBeGreaterThan(2_900);
    expect(read).toBeGreaterThan(0.97 * sources.length);
  });
});

describe("compilePythonAsserts", () => {
  it("compiles asserts about one function to calls", () => {
    expect(compilePythonAsserts({ tests: ["assert f(1) == 2\nassert f(2) == 3", "assert not f(0)"] })).toMatchObject({
      kind: "calls",
      function: "f",
      tests: [{ args: [{ int: "1" }] }, { args: [{ int: "2" }] }, { comparator: { kind: "falsy" } }],
    });
  });

  it("sends two functions, setup objects and everything else to the judge, with what they need", () => {
    expect(compilePythonAsserts({ tests: ["assert f(1) == 2", "assert g(1) == 2"] })).toMatchObject({
      kind: "judge",
      exports: ["f", "g"],
      tests: [{ code: "assert f(1) == 2" }, { code: "assert g(1) == 2" }],
    });
    expect(
      compilePythonAsserts({ setup: "root = Node(1)", tests: ["assert depth(root) == math.floor(len([1]))"] }),
    ).toEqual({
      kind: "judge",
      language: "python",
      setup: "import math\nroot = Node(1)",
      exports: ["Node", "depth"],
      tests: [{ code: "assert depth(root) == math.floor(len([1]))" }],
    });
  });

  it("treats a builtin's name as the function under test only if a solution defines it", () => {
    expect(compilePythonAsserts({ tests: ["assert sum(1, 2) == 3"] }).kind).toBe("judge");
    expect(compilePythonAsserts({ tests: ["assert sum(1, 2) == 3"], defined: ["sum"] })).toMatchObject({
      kind: "calls",
      function: "sum",
    });
  });

  it("sends text that is not Python to the judge unchanged", () => {
    expect(compilePythonAsserts({ tests: ["assert f(1 == 2"] })).toMatchObject({
      kind: "judge",
      tests: [{ code: "assert f(1 == 2" }],
    });
  });
});

describe("compilePythonCheck", () => {
  const compile = (test: string, helpers = ""): unknown => compilePythonCheck({ test, entryPoint: "f", helpers });

  it("compiles simple asserts to calls, without asserts that always pass", () => {
    const body =
      "  '''doc'''\n  import math\n  assert True, 'x'\n  assert candidate(1) == 2\n  assert f(2) == 3\n  pass\n";
    expect(compile(`METADATA = {}\n\ndef check(candidate):\n${body}\ncheck(f)`)).toMatchObject({
      kind: "calls",
      function: "f",
      tests: [{ args: [{ int: "1" }] }, { args: [{ int: "2" }] }],
    });
  });

  it("keeps loops and what they need, one piece for each assert", () => {
    const test = [
      "import random",
      "def check(candidate):",
      "    assert candidate(1) == 2  # a comment",
      "    # another",
      "    x = '''",
      "    kept'''",
      "    for i in range(3):",
      "        y = [i,",
      "             x]",
      "        assert candidate(i) == y",
      "    assert True",
      "    print(x)",
      "check(f)",
    ].join("\n");
    expect(compile(test, "def helper(): pass")).toEqual({
      kind: "judge",
      language: "python",
      exports: ["f"],
      setup: "def helper(): pass\nimport random\ncandidate = f",
      tests: [
        { code: "assert candidate(1) == 2" },
        {
          code: [
            "x = '''\n    kept'''",
            "for i in range(3):\n    y = [i,\n             x]\n    assert candidate(i) == y",
            "print(x)",
          ].join("\n"),
        },
      ],
    });
  });

  it.each([
    ["a return", "def check(candidate):\n  return\n  assert candidate(1) == x"],
    ["another name for check", "def test(candidate):\n  assert candidate(1) == 2"],
    ["a body on the same line", "def check(candidate): assert candidate(1) == 2"],
    ["no Python", "def check(candidate:\n  assert candidate(1) == 2"],
    ["two parameters", "def check(candidate, x):\n  assert candidate(1) == 2"],
    ["an empty body", "def check(candidate):\n  assert True"],
  ])("runs the whole check if it has %s", (_, test) => {
    expect(compile(test)).toMatchObject({ kind: "judge", exports: ["f"], tests: [{ code: `${test}\ncheck(f)\n` }] });
  });

  it("does not compile calls of another function", () => {
    expect(compile("def check(candidate):\n  assert g(1) == 2")).toMatchObject({ kind: "judge" });
    expect(compile("def check(candidate):\n  assert g(1) == 2\n  assert candidate(1) == 2")).toMatchObject({
      kind: "judge",
    });
  });
});

describe("names", () => {
  it("of calls are those that are defined elsewhere", () => {
    const source = [
      "from a import b as c, d",
      "import e.g, h as i",
      "def j(): pass",
      "k = 1; l(m(1), n.o(2), p=q())",
      "for r in s(): r()",
      "assert (t(1)), u",
      "if (v): pass",
      "[w() for w in []]; c(); d(); e(); i(); j(); k(); len(x(1))",
    ].join("\n");
    expect(calledNames([source])).toEqual(["l", "m", "q", "s", "t", "x"]);
    expect(calledNames([source], ["t", "len", "s", "z"])).toEqual(["s", "t", "len"]);
  });

  it("of modules that are used and not imported get an import", () => {
    expect(missingImports(["math.pi + sys.x + a.re.b", "import sys\njson.x"])).toEqual(["import math", "import json"]);
    expect(missingImports(["math = 1", "math.pi"])).toEqual([]);
  });
});
