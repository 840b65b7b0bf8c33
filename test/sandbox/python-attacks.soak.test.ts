import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExecuteResult, Sandbox } from "../../sandbox/index.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import { openAsOrdinaryUser } from "./ordinary-user.ts";
import { pythonAttacks } from "./python-attacks.ts";
import { calls, int, runPython, type ZygoteBackend, zygoteBackends } from "./zygote-backends.ts";

const backends: readonly ZygoteBackend[] = [
  ...zygoteBackends,
  { name: "pyodide", open: (options) => createPyodideSandbox({ ...options, spares: 0 }), missing: undefined },
  await ordinaryUser(),
];

async function ordinaryUser(): Promise<ZygoteBackend> {
  const name = "bubblewrap of an ordinary user";
  const open = (): Promise<Sandbox> => openAsOrdinaryUser("bubblewrap");
  let missing = process.getuid?.() === 0 ? zygoteBackends[1]!.missing : "the other one is";
  if (missing === undefined) {
    try {
      await using sandbox = await open();
      void sandbox;
    } catch (error) {
      missing = (error as Error).message;
    }
  }
  return { name: missing === undefined ? name : `${name} (skipped: ${missing})`, open, missing };
}

/** Uses what attacks change, and returns what it found. */
const canary = [
  "import os, sys, time",
  "print('out')",
  "print('err', file=sys.stderr)",
  "def solve(x):",
  "    with open('/tmp/a', 'w') as file: file.write('abc')",
  "    with open('/tmp/a') as file: text = file.read()",
  "    copies = [os.dup(n) for n in range(3)]",
  "    for n in copies: os.close(n)",
  "    print('called', flush=True)",
  "    found = [text, sys.stdin.read(), os.getcwd(), sorted(os.listdir('/tmp')), os.path.exists('/dev/left')]",
  "    found += [os.path.exists('/dev/shm/left'), os.get_blocking(0), os.get_blocking(1), os.umask(0) == 0o777]",
  "    found += [sys.getrecursionlimit() > 900, time.strftime('%Z'), len([7]), 1 + 1, sorted(os.environ)]",
  "    return [x + 1, [str(each) for each in found]]",
].join("\n");

describe.each(backends)("attacks on $name", ({ open, missing }) => {
  let sandbox: Sandbox;
  let known: unknown;
  beforeAll(async () => {
    if (missing !== undefined) return;
    sandbox = await open({ workers: 1 });
    known = await sing();
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  /** The expected result of a canary for each kind of task. */
  const sing = async (): Promise<unknown> => {
    const called = await runPython(sandbox, { code: canary, task: calls("solve", [int(1)]) });
    const program = await runPython(sandbox, { code: "print(input())", task: { kind: "program", stdin: ["in"] } });
    const tests = ["assert solve(1)[0] == 2", "assert solve(1)[0] == 3"];
    const judged = await runPython(sandbox, { code: canary, task: { kind: "judge", tests, exports: ["solve"] } });
    return [called, program, judged].map(({ status, attempts, cases, stdout, stderr, error }: ExecuteResult) => {
      return { status, attempts, cases: cases.map(({ cpuMs: _, ...each }) => each), stdout, stderr, error };
    });
  };

  test.skipIf(missing !== undefined)("a canary gives its expected result before any attack", () => {
    expect(known).toMatchObject([
      { status: "ok", attempts: 1, cases: [{ outcome: "returned" }], stderr: { text: "err\n" } },
      { status: "ok", attempts: 1, cases: [{ outcome: "returned", value: "in\n" }] },
      { status: "ok", attempts: 1, cases: [{ outcome: "returned" }, { outcome: "raised" }] },
    ]);
  });

  test.skipIf(missing !== undefined).for(pythonAttacks)(
    "%s: does not pass, is scored, and does not affect a canary",
    async ([, code]) => {
      const limits = { cpuMs: 300, wallMs: 4_000 };
      const called = await runPython(sandbox, { code, task: calls("solve", [int(3)]), limits });
      expect(called.status).not.toBe("infra_error");
      expect(called.cases[0]!.value).not.toEqual(int(1234));
      expect(await sing()).toEqual(known);
      const task = { kind: "judge", tests: ["assert solve(3) == 1234"], exports: ["solve"] } as const;
      const judged = await runPython(sandbox, { code, task, limits });
      expect(judged.status).not.toBe("infra_error");
      expect(judged.cases[0]!.outcome).not.toBe("returned");
      expect(await sing()).toEqual(known);
    },
  );
});
