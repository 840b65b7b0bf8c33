import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExecuteStatus, Limits, Sandbox } from "../../sandbox/index.ts";
import { shareOf } from "../tier.ts";
import { calls, int, runPython, zygoteBackends } from "./zygote-backends.ts";

/** A program that attempts a cheat. It defines `solve`, which should return 1234 for 3 and cannot know that. */
interface Adversary {
  readonly name: string;
  readonly code: string;
  readonly statuses: readonly ExecuteStatus[];
}

/**
 * Short limits. Only the wall time of code that uses up the processor is longer, because a busy machine gives it a
 * tenth of a processor.
 */
function limitsOf({ statuses }: Adversary): Partial<Limits> {
  return { cpuMs: 300, wallMs: statuses.includes("timeout_wall") ? 1_500 : 60_000 };
}

/** The body of `solve`, in a few lines. */
function solve(...lines: readonly string[]): string {
  return ["def solve(x):", ...lines.map((line) => `    ${line}`)].join("\n");
}

const time: readonly Adversary[] = [
  { name: "1 endless loop", code: solve("while True: pass"), statuses: ["timeout_cpu"] },
  {
    name: "2 loop that catches everything",
    code: solve("while True:", "    try:", "        while True: pass", "    except BaseException: pass"),
    statuses: ["timeout_cpu"],
  },
  {
    name: "3 all signals ignored",
    code: solve(
      "import signal",
      "for s in range(1, 65):",
      "    try: signal.signal(s, signal.SIG_IGN)",
      "    except (OSError, ValueError): pass",
      "while True: pass",
    ),
    statuses: ["timeout_cpu"],
  },
  { name: "4 a tower of powers", code: solve("return 9**9**9"), statuses: ["timeout_cpu", "memory"] },
  { name: "5 a loop in C", code: solve("return sum(range(10**13))"), statuses: ["timeout_cpu"] },
  {
    name: "6 a regular expression that backtracks",
    code: solve("import re", "return re.match('(a+)+$', 'a' * 40 + 'b')"),
    statuses: ["timeout_cpu"],
  },
  { name: "7 sleep", code: solve("import time", "time.sleep(100)"), statuses: ["timeout_wall"] },
  {
    name: "8 timers cancelled",
    code: solve("import signal", "signal.setitimer(signal.ITIMER_PROF, 0)", "signal.alarm(0)", "while True: pass"),
    statuses: ["timeout_cpu"],
  },
  {
    name: "9 stops its group",
    code: solve("import os, signal", "os.killpg(0, signal.SIGSTOP)", "return 1"),
    statuses: ["timeout_wall"],
  },
  {
    name: "10 deadlock",
    code: solve("import threading", "l = threading.Lock()", "l.acquire()", "l.acquire()"),
    statuses: ["timeout_wall"],
  },
];

const memory: readonly Adversary[] = [
  // If memory is slow, filling it takes more processor time than the limit.
  { name: "11 list bomb", code: solve("a = [0]", "while True: a = a + a"), statuses: ["memory", "timeout_cpu"] },
  { name: "12 huge bytearray", code: solve("return len(bytearray(10**10))"), statuses: ["memory"] },
  { name: "13 string doubling", code: solve("s = 'x'", "while True: s += s"), statuses: ["memory", "timeout_cpu"] },
  {
    name: "14 forks that each fill memory",
    code: solve(
      "import os, time",
      "for _ in range(8):",
      "    if os.fork() == 0:",
      "        b = b'x' * 200_000_000",
      "        time.sleep(100)",
      "time.sleep(100)",
    ),
    statuses: ["timeout_wall", "memory", "signal", "timeout_cpu"],
  },
  {
    name: "15 print flood",
    code: solve("while True: print('x' * 10_000)"),
    statuses: ["output_limit", "timeout_cpu"],
  },
  { name: "17 20 MB returned", code: solve("return 'x' * 20_000_000"), statuses: ["result_limit"] },
  {
    name: "18 100,000 levels returned",
    code: solve("a = []", "for _ in range(100_000): a = [a]", "return a"),
    statuses: ["ok", "signal"],
  },
  {
    name: "19 /tmp filled",
    code: solve(
      "for i in range(100):",
      "    try:",
      "        with open('/tmp/f%d' % i, 'wb') as f: f.write(b'x' * 10_000_000)",
      "    except OSError: pass",
      "return 1",
    ),
    statuses: ["ok", "timeout_cpu"],
  },
  {
    name: "20 descriptors used up",
    code: solve("import os", "while True: os.dup(0)"),
    statuses: ["ok"],
  },
  {
    name: "21 stderr flood of what is no text",
    code: solve("import os", "while True: os.write(2, b'\\xff\\xfe\\0\\xed\\xa0\\x80' * 10_000)"),
    statuses: ["output_limit", "timeout_cpu"],
  },
];

const processes: readonly Adversary[] = [
  {
    name: "22 fork bomb",
    code: solve("import os", "while True:", "    try: os.fork()", "    except OSError: pass"),
    statuses: ["timeout_cpu", "timeout_wall"],
  },
  {
    name: "23 daemon",
    code: solve(
      "import os, time",
      "if os.fork() == 0:",
      "    os.setsid()",
      "    if os.fork() == 0:",
      "        while True: time.sleep(1)",
      "    os._exit(0)",
      "return 1",
    ),
    statuses: ["ok"],
  },
  {
    name: "24 200 threads",
    code: solve(
      "import threading, time",
      "for _ in range(200): threading.Thread(target=lambda: time.sleep(100), daemon=True).start()",
      "return 1",
    ),
    statuses: ["ok"],
  },
  {
    name: "25 a thread left running",
    code: solve("import threading, time", "threading.Thread(target=lambda: time.sleep(100)).start()", "return 1"),
    statuses: ["ok"],
  },
  { name: "26 kill(-1)", code: solve("import os", "os.kill(-1, 9)", "return 1"), statuses: ["ok", "signal"] },
  {
    name: "27 kills the runner",
    code: solve(
      "import os",
      "for p in [1, os.getppid()] + [int(n) for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()]:",
      "    try: os.kill(p, 9)",
      "    except OSError: pass",
      "return 1",
    ),
    statuses: ["ok"],
  },
  {
    name: "31 segmentation fault",
    code: solve("import ctypes", "ctypes.string_at(0)"),
    statuses: ["signal"],
  },
  {
    name: "32 an object with __reduce__",
    code: `class R:\n    def __reduce__(self): return (print, (1234,))\n${solve("return R()")}`,
    statuses: ["ok"],
  },
];

const exits: readonly Adversary[] = [
  { name: "33 exit at load", code: `import sys\nsys.exit(0)\n${solve("return 1")}`, statuses: ["load_error"] },
  { name: "34 exit in the function", code: solve("import sys", "sys.exit(0)"), statuses: ["ok"] },
  { name: "35 os._exit(0)", code: solve("import os", "os._exit(0)"), statuses: ["exited"] },
  { name: "35 os._exit(71)", code: solve("import os", "os._exit(70)"), statuses: ["exited"] },
  { name: "36 KeyboardInterrupt", code: solve("raise KeyboardInterrupt"), statuses: ["ok"] },
  { name: "36 GeneratorExit", code: solve("raise GeneratorExit"), statuses: ["ok"] },
  {
    name: "36 a BaseException that prints badly",
    code: `class B(BaseException):\n    def __str__(self): raise B()\n${solve("raise B()")}`,
    statuses: ["ok"],
  },
  {
    name: "37 exit hooks",
    code: `import atexit, os, sys\natexit.register(os._exit, 0)\nsys.excepthook = lambda *a: os._exit(0)\n${solve("raise ValueError")}`,
    statuses: ["ok"],
  },
  { name: "38 input() without input", code: solve("return input()"), statuses: ["ok"] },
  { name: "39 endless recursion", code: solve("return solve(x)"), statuses: ["ok"] },
  {
    name: "40 endless recursion without a limit",
    code: `import sys\nsys.setrecursionlimit(10**9)\n${solve("return solve(x)")}`,
    statuses: ["signal", "memory", "ok", "timeout_cpu"],
  },
  {
    name: "41 deep repr",
    code: solve("a = []", "for _ in range(100_000): a = [a]", "return repr(a)"),
    statuses: ["ok", "signal"],
  },
];

const writesEverywhere = [
  "import os",
  'line = b\'%s 0 0.001 {"outcome":"returned","value":{"int":"1234"}}\\n\' % (b\'0\' * 32)',
  "for fd in range(1, 64):",
  "    try: os.write(fd, line)",
  "    except OSError: pass",
];

const fakes: readonly Adversary[] = [
  {
    name: "42 an object that equals everything",
    code: `class A:\n    def __eq__(self, o): return True\n    def __hash__(self): return 1\n${solve("return A()")}`,
    statuses: ["ok"],
  },
  {
    name: "43 an int that equals everything",
    code: `class A(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\n${solve("return A(1)")}`,
    statuses: ["ok"],
  },
  { name: "44 mock.ANY", code: `from unittest import mock\n${solve("return mock.ANY")}`, statuses: ["ok"] },
  {
    name: "45 a false __class__",
    code: `class A:\n    __class__ = int\n    def __eq__(self, o): return True\n${solve("return A()")}`,
    statuses: ["ok"],
  },
  {
    name: "46 trace functions",
    code: `import sys\ndef t(frame, event, arg):\n    frame.f_trace_lines = True\n    return t\nsys.settrace(t)\n${solve("return 1")}`,
    statuses: ["ok", "timeout_cpu"],
  },
  {
    name: "48-50 looks for the answer in memory",
    code: solve(
      "import gc, re, sys",
      "found = []",
      "f = sys._getframe(1)",
      "while f:",
      "    found += [str(f.f_code.co_consts), str(f.f_locals), str(f.f_globals)]",
      "    f = f.f_back",
      "found += [str(o) for o in gc.get_objects() if type(o) in (dict, list, tuple)]",
      "found = re.search(r'solve.3. ?==? ?(\\d+)', ' '.join(found))",
      "return int(found[1]) if found else 1",
    ),
    statuses: ["ok"],
  },
  {
    name: "52 forged frames on every descriptor",
    code: solve(...writesEverywhere, "return 1"),
    statuses: ["violation"],
  },
  {
    name: "53 forged frames, then an exit",
    code: solve(...writesEverywhere, "os._exit(0)"),
    statuses: ["violation"],
  },
  {
    name: "56 patched json, struct, os.write",
    code: `import json, os, struct\njson.dumps = lambda *a, **k: '{"int":"1234"}'\nstruct.pack = lambda *a: b''\nos.write = lambda fd, d: len(d)\n${solve("return 1")}`,
    statuses: ["ok"],
  },
  {
    name: "57 patched builtins",
    code: `import builtins\nfor n in ['exec', 'compile', 'print', 'len', 'sorted', 'isinstance', 'abs', 'str', 'repr']:\n    setattr(builtins, n, lambda *a, **k: 1234)\n${solve("return 1")}`,
    statuses: ["ok", "exited", "violation", "load_error"],
  },
  {
    name: "58 a thread that patches what it finds",
    code: `import threading, gc, types\ndef go():\n    for o in gc.get_objects():\n        if type(o) is dict and 'check' in o: o['check'] = lambda *a: True\nthreading.Thread(target=go).start()\n${solve("return 1")}`,
    statuses: ["ok"],
  },
  {
    name: "59 other builtins",
    code: `import builtins\nclass M(dict): pass\nglobals()['__builtins__'] = M(vars(builtins))\n${solve("return 1")}`,
    statuses: ["ok"],
  },
  {
    name: "60 list comparison overwritten",
    code: `import ctypes\ntry:\n    ctypes.memset(id(int) + 24 * 8, 0, 8)\nexcept Exception: pass\n${solve("return 1")}`,
    statuses: ["ok", "signal", "exited"],
  },
  {
    name: "61 patched unittest, planted configuration",
    code: `import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\nfor n in ['conftest', 'sitecustomize', 'usercustomize', 'unittest']:\n    open('/tmp/%s.py' % n, 'w').write('raise SystemExit(0)')\n${solve("return 1")}`,
    statuses: ["ok"],
  },
  {
    name: "63 a forked child forges while its parent waits",
    code: solve(
      "import os",
      "pid = os.fork()",
      "if pid == 0:",
      "    return 1234 if False else 2",
      "os.waitpid(pid, 0)",
      "return 1",
    ),
    statuses: ["violation"],
  },
  {
    name: "64 output that looks like a verdict",
    code: solve('print(\'{"status":"ok","passed":true}\')', "print('PASSED')", "return 1"),
    statuses: ["ok"],
  },
];

const all = [...time, ...memory, ...processes, ...exits, ...fakes];

describe.each(zygoteBackends)("$name", (backend) => {
  const { open, missing } = backend;
  const engine = zygoteBackends.indexOf(backend);
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (missing === undefined) sandbox = await open({ workers: 1 });
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  /** The next execution is honest and finds no trace of the last one. */
  const expectClean = async (): Promise<void> => {
    const code = [
      "import os, sys, builtins, json",
      "def solve(x):",
      "    mine = [n for n in os.listdir('/proc') if n.isdigit() and os.stat('/proc/' + n).st_uid == os.getuid()]",
      "    return [x + 1, os.listdir('/tmp'), len(mine), len([1]), json.dumps([1]), sys.getrecursionlimit()]",
    ].join("\n");
    const result = await runPython(sandbox, { code, task: calls("solve", [int(1)]) });
    expect(result).toMatchObject({ status: "ok", attempts: 1, integrity: { nonceOk: true, flags: [] } });
    const empty = { list: [] };
    const expected = { list: [int(2), empty, int(1), int(1), "[1]", int(1000)] };
    expect(result.cases[0]!.value).toEqual(expected);
  };

  describe.skipIf(missing !== undefined)("no hack passes, and the next execution is clean", () => {
    test.each(shareOf(all, { engine: 2 * engine, of: 4 }))("calls: $name", async (adversary) => {
      const { code, statuses } = adversary;
      const task = calls("solve", [int(3)]);
      const result = await runPython(sandbox, { code, task, limits: limitsOf(adversary) });
      expect(statuses).toContain(result.status);
      expect(result.cases[0]!.value).not.toEqual(int(1234));
      await expectClean();
    });

    test.each(shareOf(all, { engine: 3 - 2 * engine, of: 4 }))("judge: $name", async (adversary) => {
      const { code, statuses } = adversary;
      const tests = ["assert solve(3) == 1234", "import unittest\nunittest.TestCase().assertEqual(solve(3), 1234)"];
      const task = { kind: "judge", tests, exports: ["solve"] } as const;
      const result = await runPython(sandbox, { code, task, limits: limitsOf(adversary) });
      expect(["ok", "violation", "exited", ...statuses]).toContain(result.status);
      expect(result.cases.map(({ outcome }) => outcome)).not.toContain("returned");
      await expectClean();
    });
  });
});
