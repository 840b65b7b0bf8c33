import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { ExecuteRequest, ExecuteResult, ExecuteTask } from "../../sandbox/execution.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createPyodideSandbox({ workers: 1, spares: 1 });
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const int = (value: number): PlainValue => ({ int: String(value) });

function execute(code: string, task: ExecuteTask, options: Partial<ExecuteRequest> = {}): Promise<ExecuteResult> {
  return sandbox.execute({ language: "python", files: { "main.py": code }, entry: "main.py", task, ...options });
}

function call(code: string, args: readonly PlainValue[] = [], options: Partial<ExecuteRequest> = {}) {
  return execute(code, { kind: "calls", function: "f", cases: [{ args }] }, options);
}

function judge(code: string, tests: readonly string[], exports: readonly string[] = ["f"]): Promise<ExecuteResult> {
  return execute(code, { kind: "judge", tests, exports });
}

const outcomes = ({ cases }: ExecuteResult): string[] => cases.map(({ outcome }) => outcome);

test("calls: return or raise for each case, in order", async () => {
  const result = await execute("def f(a, *, b=1):\n    return [a / b, {'a': (a, b)}]", {
    kind: "calls",
    function: "f",
    cases: [{ args: [int(3)], kwargs: { b: int(2) } }, { args: [int(1)], kwargs: { b: int(0) } }, { args: [] }],
  });
  expect(result.status).toBe("ok");
  expect(result.cases[0]).toMatchObject({
    index: 0,
    outcome: "returned",
    value: { list: [{ float: "1.5" }, { dict: [["a", { tuple: [int(3), int(2)] }]] }] },
  });
  expect(result.cases[1]).toMatchObject({ outcome: "raised", error: { type: "ZeroDivisionError", line: 2 } });
  expect(result.cases[2]).toMatchObject({ outcome: "raised", error: { type: "TypeError" } });
  expect(result.worker.id).toMatch(/^pyodide-/);
});

test("calls: methods, changed arguments, state within a job and none within a case", async () => {
  const code =
    "n = 0\nclass C:\n    def m(self, xs):\n        global n\n        n += 1\n        xs.append(n)\n        return n";
  const args = [{ list: [] }] as const;
  const task = { kind: "calls", function: "C.m", cases: [{ args }, { args }] } as const;
  const together = await execute(code, task);
  expect(together.cases.map(({ value }) => value)).toEqual([int(1), int(2)]);
  expect(together.cases[1]?.changedArgs).toEqual([{ list: [int(2)] }]);
  const apart = await execute(code, { ...task, isolate: "case" });
  expect(apart.cases.map(({ value }) => value)).toEqual([int(1), int(1)]);
});

/** Values that Python returns unchanged. The items of a set have one type, because 1 and True would be one item. */
const key = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .bigInt()
    .map(String)
    .map((digits) => ({ int: digits })),
);
const plainValue = fc.letrec<{ value: PlainValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("\ud800", "\0", "\n", '"', "\\", "é", "\u2028") }),
    fc.bigInt().map((value) => ({ int: String(value) })),
    fc.constantFrom("nan", "inf", "-inf", "-0.0", "1.5", "1e+300", "5e-324").map((float) => ({ float })),
    fc.uint8Array().map((bytes) => ({ bytes: Buffer.from(bytes).toString("base64") })),
    fc.constantFrom("nan", "-0.0", "2.0").map((part) => ({ complex: ["1.0", part] as [string, string] })),
    fc.array(tie("value")).map((list) => ({ list })),
    fc.array(tie("value")).map((tuple) => ({ tuple })),
    key.map((item) => ({ set: [item] })),
    key.map((item) => ({ frozenset: [item] })),
    fc
      .uniqueArray(fc.tuple(key, tie("value")), { selector: ([name]) => JSON.stringify(name) })
      .map((dict) => ({ dict })),
  ),
})).value;

test("every plain value comes back unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plainValue, { minLength: 1, maxLength: 20 }), async (values) => {
      const result = await execute("def f(x):\n    return x", {
        kind: "calls",
        function: "f",
        cases: values.map((value) => ({ args: [value] })),
      });
      expect(result.cases.map(({ value }) => value)).toEqual(values);
      expect(result.cases.map(({ changedArgs }) => changedArgs)).toEqual(values.map(() => undefined));
    }),
    { numRuns: 30 },
  );
});

test("an integer of 20,000 digits comes back, and Python still refuses to convert it to text", async () => {
  const digits = "7".repeat(20_000);
  expect((await call("def f(x):\n    return x + 0", [{ int: digits }])).cases[0]?.value).toEqual({ int: digits });
  expect((await call("def f():\n    return str(10 ** 5000)")).cases[0]?.error?.type).toBe("ValueError");
});

test.each([
  ["a generator", "def f():\n    yield 1"],
  ["a cycle", "def f():\n    x = []\n    x.append(x)\n    return x"],
  ["an object that claims to be a list", "class C:\n    __class__ = list\ndef f():\n    return C()"],
  ["61 lists in one another", "def f():\n    x = []\n    for _ in range(60):\n        x = [x]\n    return x"],
])("%s is not a plain value", async (_, code) => {
  expect(outcomes(await call(code))).toEqual(["unsupported"]);
});

test("dictionaries and tuples of the standard library are read as their items", async () => {
  const code = [
    "from collections import *",
    "class P(namedtuple('P', 'x y')):\n    pass",
    "Q = namedtuple('Q', 'x y')",
    "Counter.items = lambda self: [('forged', 1)]",
    "def f():\n    d = OrderedDict(a=1, b=2)\n    d.move_to_end('a')\n    return [Counter('aa'), defaultdict(int, x=1), d, Q(1, 2)]",
  ].join("\n");
  expect((await call(code)).cases[0]?.value).toEqual({
    list: [
      { dict: [["a", int(2)]] },
      { dict: [["x", int(1)]] },
      {
        dict: [
          ["b", int(2)],
          ["a", int(1)],
        ],
      },
      { tuple: [int(1), int(2)] },
    ],
  });
});

test("program: each input has a fresh interpreter, and the output is the value", async () => {
  const code =
    "import builtins, sys\nn = getattr(builtins, 'n', 0) + 1\nbuiltins.n = n\nprint(n, sys.stdin.read().strip() or sys.exit(3), __name__)";
  const result = await execute(code, { kind: "program", stdin: ["a\n", "b", ""] });
  expect(result.status).toBe("ok");
  expect(result.cases).toMatchObject([
    { outcome: "returned", value: "1 a __main__\n" },
    { outcome: "returned", value: "1 b __main__\n" },
    { outcome: "raised", value: "", error: { type: "SystemExit", message: "3" } },
  ]);
});

test("script: runs completely, with separate output", async () => {
  const code = "import sys\nprint(input())\nprint('to stderr', file=sys.stderr)\nassert False, 'no'";
  const result = await execute(code, { kind: "script", integrity: "inline", stdin: "hello\n" });
  expect(result.stdout.text).toBe("hello\n");
  expect(result.stderr.text).toMatch(/^to stderr\nTraceback[\s\S]*AssertionError: no\n$/);
  expect(result.cases).toMatchObject([
    { outcome: "raised", error: { type: "AssertionError", message: "no", line: 4 } },
  ]);
});

test("program: processor time is counted per input", async () => {
  const code = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint('done')";
  const task = { kind: "program", stdin: ["", "", "", "", ""] } as const;
  const result = await execute(code, task, { limits: { cpuMs: 600, wallMs: 60_000 } });
  expect(result.status).toBe("ok");
  expect(outcomes(result)).toEqual(Array(5).fill("returned"));
});

test("several files: the entry imports the others, and reads and writes its folder", async () => {
  const result = await sandbox.execute({
    language: "python",
    files: {
      "pkg/main.py":
        "import helper.words\ndef f():\n    open('x.txt', 'w').write(helper.words.word)\n    return open('x.txt').read()",
      "helper/words.py": "word = 'yes'",
    },
    entry: "pkg/main.py",
    task: { kind: "calls", function: "f", cases: [{ args: [] }] },
  });
  expect(result.cases).toMatchObject([{ value: "yes" }]);
});

const account = [
  "class Account:",
  "    kinds = ['a']",
  "    def __init__(self, balance=0): self.balance = balance",
  "    def pay(self, n):",
  "        if n > self.balance: raise ValueError('too much')",
  "        self.balance -= n",
  "        return self.balance",
  "    @staticmethod",
  "    def fee(n): return n / 10",
  "    def history(self):",
  "        yield from range(self.balance)",
  "def merge(a, b): return Account(a.balance + b.balance)",
  "def f(xs): xs.sort()",
].join("\n");

test("judge: tests see classes, attributes, methods, errors and changed arguments", async () => {
  const result = await judge(
    account,
    [
      "a = Account(5)\nassert a.pay(2) == 3 and a.balance == 3",
      "a.balance = 10\nassert a.pay(1) == 9",
      "try:\n    a.pay(99)\n    assert False\nexcept ValueError as error:\n    assert str(error) == 'too much'",
      "assert isinstance(merge(a, Account(1)), Account) and merge(a, Account(1)).balance == 10",
      "assert Account.fee(5) == 0.5 and Account.kinds == ['a']",
      "xs = [2, 1]\nf(xs)\nassert xs == [1, 2]",
      "assert list(a.history()) == list(range(9))",
      "assert a.missing",
      "assert a.pay(1) == 0",
    ],
    ["Account", "merge", "f"],
  );
  expect(result.status).toBe("ok");
  expect(outcomes(result)).toEqual([...Array(7).fill("returned"), "raised", "raised"]);
  expect(result.cases[7]?.error?.type).toBe("AttributeError");
  expect(result.cases[8]?.error).toMatchObject({ type: "AssertionError", line: 1 });
});

test("judge: unittest, a set-up, and a set-up that fails", async () => {
  const suite =
    "class T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(f(2), four)\nunittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestLoader().loadTestsFromTestCase(T)).wasSuccessful() or (_ for _ in ()).throw(AssertionError('failed'))";
  const code = "def f(x):\n    return x * 2";
  const task = { kind: "judge", exports: ["f"], tests: [suite] } as const;
  const setup = "import io, unittest\nfour = ";
  expect(outcomes(await execute(code, { ...task, setup: `${setup}4` }))).toEqual(["returned"]);
  expect(outcomes(await execute(code, { ...task, setup: `${setup}5` }))).toEqual(["raised"]);
  const broken = await execute(code, { ...task, setup: `${setup}nothing` });
  expect(broken.cases).toMatchObject([{ outcome: "raised", error: { type: "NameError" } }]);
});

test.each([
  ["memory", "def f():\n    x = []\n    while True: x.append('a' * 9999 + str(len(x)))", "f()"],
  ["timeout_cpu", "def f():\n    while True: pass", "f()"],
  ["timeout_cpu", "def f():\n    return 1", "while f(): pass"],
  ["result_limit", "def f():\n    return 'x' * 2_000_000", "f()"],
  ["exited", "import os\ndef f():\n    os._exit(3)", "f()"],
])("judge: %s during a test ends the job, and the next job is judged again", async (status, code, testCode) => {
  const task = { kind: "judge", exports: ["f"], tests: ["1", testCode, "2"] } as const;
  const result = await execute(code, task, { limits: { cpuMs: 600, memoryMb: 128 } });
  expect(result.status).toBe(status);
  expect(outcomes(result)).toEqual(["returned", "missing", "missing"]);
  expect(outcomes(await judge("def f(): return 1", ["assert f() == 1"]))).toEqual(["returned"]);
});

test("judge: an object that equals everything equals only itself", async () => {
  const code =
    "class E:\n    def __eq__(self, other): return True\n    def __contains__(self, x): return True\n    __hash__ = None\ndef f(): return E()";
  const result = await judge(code, ["assert f() == 3", "assert 3 == f()", "assert f() in [1, 2]", "assert f() != 3"]);
  expect(outcomes(result)).toEqual(["raised", "raised", "raised", "returned"]);
});

test("judge: the code never sees its tests", async () => {
  const code = [
    "import gc, sys",
    "def f():",
    "    frame, seen = sys._getframe(), []",
    "    while frame: seen += map(repr, (frame.f_locals, frame.f_code.co_consts)); frame = frame.f_back",
    "    seen += [repr(o) for o in gc.get_objects() if isinstance(o, (str, tuple, dict, list)) and len(o) < 1000]",
    "    return any('s3' + 'cret' in text for text in seen)",
  ].join("\n");
  const result = await judge(code, ["expected = 's3cret'\nassert f() is False"]);
  expect(outcomes(result)).toEqual(["returned"]);
});

test.each([
  ["no Python", "def f(:", "load_error", "SyntaxError"],
  ["an error at the top", "1 / 0\ndef f(): pass", "load_error", "ZeroDivisionError"],
  ["no such function", "g = 1", "load_error", "NameError"],
  ["NUL in the source", "def f():\n    return '\0'", "load_error", "SyntaxError"],
])("%s: %s is a load error", async (_, code, status, type) => {
  for (const result of [await call(code), await judge(code, ["f()"])]) {
    expect(result).toMatchObject({ status, error: { type }, cases: [{ outcome: "missing" }] });
  }
});

test("the same seed gives the same result, and another seed another result", async () => {
  const code =
    "import os, random, uuid\ndef f():\n    return [random.random(), os.urandom(4).hex(), str(uuid.uuid4()), hash('x')]";
  const [one, again, two] = [
    await call(code, [], { seed: 1 }),
    await call(code, [], { seed: 1 }),
    await call(code, [], { seed: 2 }),
  ];
  const items = (result: ExecuteResult) => (result.cases[0]?.value as { list: PlainValue[] }).list;
  expect(items(one)).toEqual(items(again));
  for (const i of [0, 1, 2]) expect(items(one)[i]).not.toEqual(items(two)[i]);
  expect(items(one)[3]).toEqual(items(two)[3]);
});

test("output beyond the limit is dropped and marked, and ends a program", async () => {
  const code = "def f():\n    print('é' * 40000)\n    return 1";
  const { status, stdout, cases } = await call(code);
  expect({ status, outcome: cases[0]?.outcome }).toEqual({ status: "ok", outcome: "returned" });
  expect(stdout).toMatchObject({ bytes: 80_001, truncated: true });
  expect(Buffer.byteLength(stdout.text)).toBeLessThanOrEqual(65_538);
  const program = await execute("print('x' * 70000)", { kind: "program", stdin: ["", ""] });
  expect(program).toMatchObject({ status: "output_limit", cases: [{ outcome: "missing" }, { outcome: "missing" }] });
});

test("an abort ends only its execution", async () => {
  const abort = new AbortController();
  const endless = call("def f():\n    while True:\n        pass", [], {
    signal: abort.signal,
    limits: { cpuMs: 60_000, wallMs: 60_000 },
  });
  while (sandbox.stats().running === 0) await sleep(5);
  abort.abort();
  expect(await endless).toMatchObject({ status: "aborted", cases: [{ outcome: "missing" }] });
  expect(await call("def f():\n    return 1", [], { signal: abort.signal })).toMatchObject({ status: "aborted" });
  expect((await call("def f():\n    return 1")).status).toBe("ok");
});

test("a worker that is killed from outside costs its job a retry, not a failure", async () => {
  const others = pythonProcesses();
  await using single = await createPyodideSandbox({ workers: 1, spares: 0 });
  const code = "import time\ndef f():\n    end = time.time() + 2\n    while time.time() < end: pass\n    return 1";
  const running = single.execute({
    language: "python",
    files: { "main.py": code },
    entry: "main.py",
    task: { kind: "calls", function: "f", cases: [{ args: [] }] },
    limits: { cpuMs: 30_000, wallMs: 60_000 },
  });
  while (single.stats().running === 0) await sleep(5);
  for (const pid of pythonProcesses()) if (!others.includes(pid)) process.kill(pid, "SIGKILL");
  expect(await running).toMatchObject({ status: "ok", attempts: 2, cases: [{ value: int(1) }] });
});

test("a closed sandbox leaves no process", async () => {
  const other = await createPyodideSandbox({ workers: 2, spares: 1 });
  const before = pythonProcesses();
  await other.warmUp();
  expect(pythonProcesses().filter((pid) => !before.includes(pid)).length).toBeGreaterThanOrEqual(3);
  const started = pythonProcesses().filter((pid) => !before.includes(pid));
  await other[Symbol.asyncDispose]();
  expect(started.filter((pid) => pythonProcesses().includes(pid))).toEqual([]);
});

test("no Python process is left when the parent process is killed", async () => {
  const program = `
    import { createPyodideSandbox } from ${JSON.stringify(import.meta.resolve("../../sandbox/pyodide/create-pyodide-sandbox.ts"))};
    const sandbox = await createPyodideSandbox({ workers: 2, spares: 1 });
    await sandbox.warmUp();
    const task = { kind: "calls", function: "f", cases: [{ args: [] }] };
    const files = { "main.py": "def f():\\n    return sum(range(10 ** 13))" };
    for (let i = 0; i < 2; i++) void sandbox.execute({ language: "python", files, entry: "main.py", task, limits: { cpuMs: 100000, wallMs: 100000 } });
    setTimeout(() => console.log("running"), 500);
  `;
  const trainer = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", program]);
  await once(trainer.stdout, "data");
  const started = pythonProcesses(trainer.pid);
  onTestFinished(() => {
    for (const pid of started.filter(isPython)) process.kill(pid, "SIGKILL");
  });
  expect(started.length).toBe(3);
  trainer.kill("SIGKILL");
  await once(trainer, "exit");
  await vi.waitFor(() => expect(started.filter(isPython)).toEqual([]), { timeout: 60_000 });
});

/** The child processes that run Python, on Linux. */
function pythonProcesses(parent: number | undefined = process.pid): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && isPython(pid) && parentOf(pid) === parent);
}

function isPython(pid: number): boolean {
  return readProcess(pid, "cmdline").includes("pyodide/child");
}

function parentOf(pid: number): number {
  return Number(/\) \S (\d+)/.exec(readProcess(pid, "stat"))?.[1]);
}

function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
