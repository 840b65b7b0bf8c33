import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";
import { calls, int, runPython, zygoteBackends } from "./zygote-backends.ts";

const attempt = "def attempt(action):\n    try: return action()\n    except Exception as e: return type(e).__name__\n";

describe.each(zygoteBackends)("$name", ({ open, missing }) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (missing === undefined) sandbox = await open({ workers: 1 });
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  /** Returns the result of `attempt` with an expression, as text: a value or the name of an error. */
  const observe = async (expression: string, imports = "os, sys"): Promise<unknown> => {
    const code = `import ${imports}\n${attempt}def f(): return str(attempt(lambda: ${expression}))`;
    const { status, cases } = await runPython(sandbox, { code, task: calls("f", []) });
    expect(status).toBe("ok");
    return cases[0]!.value;
  };

  describe.skipIf(missing !== undefined)("isolation", () => {
    test("nothing is left of what an earlier job wrote, patched or started", async () => {
      const first = [
        "import builtins, os, sys, json, random",
        "secret = 'first' + 'job'",
        "os.makedirs('/tmp/a/b')",
        "open('/tmp/a/b/c', 'w').write(secret)",
        "os.chmod('/tmp/a/b', 0)",
        "os.symlink('/etc', '/tmp/link')",
        "os.mkfifo('/tmp/pipe')",
        "builtins.abs = lambda x: 7",
        "sys.modules['math'] = None",
        "os.environ['LEFT'] = '1'",
        "def f(): return 1",
      ].join("\n");
      expect(await runPython(sandbox, { code: first, task: calls("f", []) })).toMatchObject({ status: "ok" });
      expect(await observe("[os.listdir('/tmp'), abs(0), math.pi > 3, 'LEFT' in os.environ]", "os, math")).toBe(
        "[[], 0, True, False]",
      );
      const scan = "[o for o in gc.get_objects() if type(o) in (dict, list) and 'first' + 'job' in str(o)]";
      expect(await observe(`len(${scan})`, "gc")).toBe("0");
      // The worker was not replaced.
      expect(sandbox.stats().workersStarted).toBe(1);
    });

    test("the host's environment, network, engine and files are out of reach", async () => {
      expect(await observe("sorted(os.environ)")).toBe(
        "['HOME', 'LANG', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PATH', 'PYTHONHASHSEED', 'TMPDIR']",
      );
      for (const address of ["('127.0.0.1', 80)", "('169.254.169.254', 80)", "('1.1.1.1', 53)"]) {
        expect(await observe(`socket.create_connection(${address}, 1)`, "socket")).toMatch(/Error$/);
      }
      expect(await observe("socket.getaddrinfo('example.com', 80)", "socket")).toBe("gaierror");
      expect(await observe("os.path.exists('/var/run/docker.sock') or os.path.exists('/run/docker.sock')")).toBe(
        "False",
      );
      expect(await observe("os.path.exists('/root/.ssh') or os.path.exists('/home')")).toBe("False");
    });

    test("only /tmp is writable", async () => {
      // Four levels deep. If a host's folders are bound, walking all of them takes longer than a job may.
      const folders =
        "[d for n in range(5) for d in glob.glob('/' + '*/' * n) if not d.startswith(('/proc', '/sys', '/dev/fd'))]";
      const writable = await observe(`[d for d in ${folders} if os.access(d, os.W_OK)]`, "glob, os");
      expect(["['/tmp/']", "['/tmp/', '/dev/mqueue/']"]).toContain(writable);
      expect(await observe("open('/dev/mqueue/x', 'w')")).toMatch(/Error$/);
      for (const path of ["/x", "/usr/x", "/etc/passwd", "/proc/sys/kernel/hostname"]) {
        expect(await observe(`open('${path}', 'w')`)).toMatch(/Error$/);
      }
    });

    test("there are no capabilities, neither the runner's nor new ones", async () => {
      expect(await observe("os.getuid() > 1000 and os.getgroups() == []")).toBe("True");
      const status =
        "[l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'NoNewPrivs', 'Seccomp:'))]";
      expect(await observe(status)).toBe("['0000000000000000', '1', '2']");
      for (const call of ["os.setuid(0)", "os.chroot('/tmp')", "os.sethostname('x')", "os.nice(-5)"]) {
        expect(await observe(call)).toMatch(/Error$/);
      }
      for (const file of ["mem", "environ", "maps", "fd/0", "fd/1", "cwd/x"]) {
        expect(await observe(`open('/proc/%d/${file}' % os.getppid(), 'rb').read(1)`)).toMatch(/Error$/);
      }
      const denied = "[libc.ptrace(16, os.getppid(), 0, 0), libc.unshare(0x10000000), libc.shmget(1, 9, 0o1666)]";
      expect(await observe(denied.replaceAll("libc", "ctypes.CDLL(None)"), "ctypes, os")).toBe("[-1, -1, -1]");
    });

    test("a process sees only its own descriptors", async () => {
      const code = "import os\ndef f(): return sorted(int(n) for n in os.listdir('/proc/self/fd'))";
      const apart = await runPython(sandbox, { code, task: calls("f", []) });
      // In /proc, an undumpable process belongs to root, so it may also see none.
      expect(["ok"]).toContain(apart.status);
      const open = "[n for n in range(256) if not isinstance(attempt(lambda: os.fstat(n)), str)]";
      expect(await observe(open)).toBe("[0, 1, 2, 3]");
    });

    test("a module of the code does not replace one of the runner", async () => {
      const files = { "json.py": "raise SystemExit(0)", "codec.py": "raise SystemExit(0)" };
      const code = "import json\ndef f(): return json.dumps([1])";
      expect((await runPython(sandbox, { code, files, task: calls("f", []) })).cases[0]!.value).toBe("[1]");
    });

    test("a judge does not import the code's files, and does not share memory with the code", async () => {
      const code = [
        "import os",
        "open('/tmp/secret_helper.py', 'w').write('answer = 1')",
        "def reached():",
        "    others = [int(n) for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()]",
        "    found = []",
        "    for pid in others:",
        "        for file in ['mem', 'environ', 'maps']:",
        "            try: found.append(open('/proc/%d/%s' % (pid, file), 'rb').read(10))",
        "            except OSError: pass",
        "        try: os.kill(pid, 0); found.append(pid)",
        "        except PermissionError: pass",
        "    return [len(others) > 3, found]",
      ].join("\n");
      const tests = [
        "try:\n    import secret_helper\nexcept ImportError:\n    pass\nelse:\n    assert False",
        "assert reached() == [True, []], reached()",
      ];
      const result = await runPython(sandbox, { code, task: { kind: "judge", tests, exports: ["reached"] } });
      expect(result.cases).toMatchObject([{ outcome: "returned" }, { outcome: "returned" }]);
    });

    test("the answers of a job cannot be replayed in the next", async () => {
      const code = [
        "import gc, re",
        "def f():",
        "    found = set()",
        "    for o in gc.get_objects():",
        "        if type(o) is dict and 'nonce' in o: found.add(str(o['nonce']))",
        "    return sorted(found)",
      ].join("\n");
      const seen = [];
      for (let i = 0; i < 2; i++) seen.push((await runPython(sandbox, { code, task: calls("f", []) })).cases[0]!.value);
      expect(seen[0]).not.toEqual(seen[1]);
      expect(JSON.stringify(seen[0])).toMatch(/[0-9a-f]{32}/);
    });
  });

  describe.skipIf(missing !== undefined)("limits", () => {
    test("output beyond its limit is dropped, and the code continues", async () => {
      const code = "def f():\n    print('é' * 50_000)\n    return 1";
      const result = await runPython(sandbox, { code, task: calls("f", []), limits: { outputBytes: 1_000 } });
      expect(result).toMatchObject({ status: "ok", cases: [{ value: int(1) }] });
      expect(result.stdout).toEqual({ text: "é".repeat(500), bytes: 100_001, truncated: true });
    });

    test("memory within the limit is granted, and more is refused", async () => {
      const code = "def f(mb): return len(b'x' * (mb << 20))";
      const run = (mb: number) => runPython(sandbox, { code, task: calls("f", [int(mb)]), limits: { memoryMb: 100 } });
      expect(await run(80)).toMatchObject({ status: "ok", cases: [{ outcome: "returned" }] });
      expect(await run(120)).toMatchObject({ status: "memory" });
    });

    test("processor time is counted per case if each case has its own process", async () => {
      const code =
        "import time\ndef f():\n    start = time.process_time()\n    while time.process_time() - start < 0.25: pass";
      const task = calls("f", [], []);
      const limits = { cpuMs: 400 };
      expect(await runPython(sandbox, { code, task, limits })).toMatchObject({
        status: "timeout_cpu",
        cases: [{ outcome: "returned" }, { outcome: "missing" }],
      });
      const apart = await runPython(sandbox, { code, task: { ...task, isolate: "case" } as typeof task, limits });
      expect(apart).toMatchObject({ status: "ok", cases: [{ outcome: "returned" }, { outcome: "returned" }] });
    });

    test("processes, open files and the size of files", async () => {
      const forks =
        "import os, time\ndef f():\n    n = 0\n    try:\n        while True:\n            if os.fork() == 0: time.sleep(100)\n            n += 1\n    except OSError: return n";
      const result = await runPython(sandbox, { code: forks, task: calls("f", []), limits: { processes: 5 } });
      expect(result.cases[0]!.value).toEqual(int(4));
      expect(result).toMatchObject({ usage: { swept: 4 }, integrity: { flags: ["left-processes"] } });
      const files =
        "def f():\n    o = []\n    try:\n        while True: o.append(open('/dev/null'))\n    except OSError: return 3 + len(o) < 20";
      expect(
        (await runPython(sandbox, { code: files, task: calls("f", []), limits: { openFiles: 20 } })).cases[0]!.value,
      ).toBe(true);
      const size =
        "def f():\n    try:\n        with open('/tmp/x', 'wb') as o: o.write(b'x' * (3 << 20))\n    except OSError as e: return e.strerror";
      const written = await runPython(sandbox, { code: size, task: calls("f", []), limits: { temporaryMb: 2 } });
      expect(written.cases[0]!.value).toBe("File too large");
    });

    test("a result just below the limit is returned, and a larger one ends the execution", async () => {
      const code = "def f(n): return 'x' * n";
      const run = (n: number) =>
        runPython(sandbox, { code, task: calls("f", [int(n)]), limits: { resultBytes: 10_000 } });
      expect(await run(9_000)).toMatchObject({ status: "ok" });
      expect(await run(11_000)).toMatchObject({ status: "result_limit", cases: [{ outcome: "missing" }] });
    });

    test("a value nested deeper than the limit is unsupported", async () => {
      const code = "def f(n):\n    a = 1\n    for _ in range(n): a = [a]\n    return a";
      const run = async (n: number) =>
        (await runPython(sandbox, { code, task: calls("f", [int(n)]), limits: { depth: 5 } })).cases[0]!.outcome;
      expect([await run(5), await run(6)]).toEqual(["returned", "unsupported"]);
    });
  });
});
