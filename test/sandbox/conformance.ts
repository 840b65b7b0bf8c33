import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExecuteRequest, ExecuteResult, ExecuteTask, Language } from "../../sandbox/execution.ts";
import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { CallSuite, JudgeSuite } from "../../sandbox/grading/test-suite.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { toPlainValue } from "../../sandbox/plain-value-conversion.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { conformancePrograms } from "./conformance-programs.ts";

/** A kind of sandbox and its languages. */
export interface ConformanceOptions {
  readonly name: string;
  readonly open: (options: { readonly workers: number }) => Promise<Sandbox> | Sandbox;
  readonly languages: readonly Language[];
  /** The reason why this machine does not have it. Its tests are then skipped. */
  readonly missing?: string | undefined;
}

const extensions = { python: "py", javascript: "js", typescript: "ts" } as const;

/** The tests that every sandbox passes, for each language it runs. */
export function describeConformance({ name, open, languages, missing }: ConformanceOptions): void {
  const title = missing === undefined ? `${name} conforms` : `${name} conforms (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(title, () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await open({ workers: 2 });
    });
    afterAll(async () => sandbox?.[Symbol.asyncDispose]());

    it("describes itself", () => {
      expect(sandbox.info.languages).toEqual(expect.arrayContaining([...languages]));
      expect(sandbox.info.version).not.toBe("");
    });

    it.each(languages)("%s: invalid requests are rejected", async (language) => {
      const request = requestOf(language, "", calls("f", []));
      const others = (["python", "javascript", "typescript"] as const).filter(
        (l) => !sandbox.info.languages.includes(l),
      );
      const refused: ExecuteRequest[] = [
        ...others.map((other) => ({ ...request, language: other })),
        { ...request, entry: "missing.py" },
        ...["../up", "/root", "a//b", "a/../b", ".", ""].map((path) => ({
          ...request,
          files: { [path]: "" },
          entry: path,
        })),
      ];
      for (const each of refused) {
        await expect(sandbox.execute(each), each.entry).rejects.toMatchObject({ code: "sandbox.request" });
      }
    });

    describe.each(languages)("%s", (language) => {
      describeLanguage(language, () => sandbox, open);
    });
  });
}

function describeLanguage(language: Language, current: () => Sandbox, open: ConformanceOptions["open"]): void {
  const programs = conformancePrograms[language];
  const plain = (value: unknown): PlainValue => toPlainValue(value, language);
  const run = (code: string, task: ExecuteTask, more: Partial<ExecuteRequest> = {}): Promise<ExecuteResult> =>
    current().execute({ ...requestOf(language, code, task), ...more });
  const expectClean = async (): Promise<void> => {
    const result = await run(programs.isClean, calls("f", []));
    expect(result).toMatchObject({ status: "ok", cases: [{ outcome: "returned", value: true }] });
  };

  it("calls a function once per case, in order", async () => {
    const result = await run(programs.double, calls("f", [plain(1)], [plain("ab")], [plain(1.5)]), { id: "mine" });
    expect(result).toMatchObject({ id: "mine", status: "ok", attempts: 1, integrity: { nonceOk: true } });
    expect(result.cases.map(({ index, outcome, value }) => [index, outcome, value])).toEqual([
      [0, "returned", plain(2)],
      [1, "returned", "abab"],
      [2, "returned", language === "python" ? { float: "3.0" } : plain(3)],
    ]);
    expect(result.error).toBeUndefined();
    expect(result.usage.wallMs).toBeGreaterThan(0);
    expect(result.worker.jobs).toBeGreaterThan(0);
  });

  it("runs no case if there are none", async () => {
    expect(await run(programs.double, calls("f"))).toMatchObject({ status: "ok", cases: [] });
  });

  it("reports the error of a case and continues", async () => {
    const { status, cases } = await run(programs.raise, calls("f", [plain(1)], [plain(0)], [plain(2)]));
    expect(status).toBe("ok");
    expect(cases).toMatchObject([
      { outcome: "returned", value: plain(1) },
      { outcome: "raised", error: { type: programs.raisedType, message: expect.stringContaining("no"), line: 2 } },
      { outcome: "returned", value: plain(2) },
    ]);
  });

  it.each(["syntaxError", "raiseAtLoad"] as const)("reports the load error: %s", async (program) => {
    const result = await run(programs[program], calls("f", [], []));
    expect(result).toMatchObject({ status: "load_error", cases: [{ outcome: "missing" }, { outcome: "missing" }] });
    expect(result.error!.type).not.toBe("");
  });

  it("reports a missing function", async () => {
    const result = await run(programs.double, calls("g", []));
    expect(result).toMatchObject({ status: "load_error", cases: [{ outcome: "missing" }] });
  });

  it("reports values that are not plain as unsupported", async () => {
    const { status, cases } = await run(programs.unsupported, calls("f", []));
    expect(status).toBe("ok");
    expect(cases).toMatchObject([{ index: 0, outcome: "unsupported" }]);
    expect(cases[0]).not.toHaveProperty("value");
  });

  it("keeps state between the cases of a job, but not if each case has its own process", async () => {
    const task = calls("f", [], [], []);
    const together = await run(programs.count, task);
    expect(together.cases.map(({ value }) => value)).toEqual([1, 2, 3].map(plain));
    const apart = await run(programs.count, { ...task, isolate: "case" } as ExecuteTask);
    expect(apart.status).toBe("ok");
    expect(apart.cases.map(({ index, value }) => [index, value])).toEqual([0, 1, 2].map((i) => [i, plain(1)]));
  });

  it("is clean after code that changes everything it reaches", async () => {
    await Promise.all(Array.from({ length: 4 }, () => run(programs.pollute, calls("f", []))));
    for (let i = 0; i < 4; i++) await expectClean();
  });

  it("ends code that never returns", async () => {
    const result = await run(programs.spin, calls("f", []), { limits: { cpuMs: 300, wallMs: 3_000 } });
    expect(result.status).toMatch(/^timeout_(cpu|wall)$/);
    expect(result.cases).toMatchObject([{ index: 0, outcome: "missing" }]);
    await expectClean();
  });

  it("ends code that fills the memory", async () => {
    const result = await run(programs.fill, calls("f", []), {
      limits: { memoryMb: 128, cpuMs: 8_000, wallMs: 30_000 },
    });
    expect(result.status).toMatch(/^(ok|memory|signal|exited|timeout_cpu)$/);
    expect(result.cases[0]!.outcome).toMatch(/^(raised|missing)$/);
    await expectClean();
  });

  it("truncates output at its limit and continues", async () => {
    const result = await run(programs.flood, calls("f", []), { limits: { outputBytes: 1_000 } });
    expect(result).toMatchObject({ status: "ok", cases: [{ outcome: "returned", value: true }] });
    expect(result.stdout.truncated).toBe(true);
    expect(result.stdout.text).toMatch(/^x{900,1000}$/);
    expect(result.stdout.bytes).toBeGreaterThanOrEqual(1_000);
  });

  it.each(["huge", "deep"] as const)("does not return values that are too large: %s", async (program) => {
    const { status, cases } = await run(programs[program], calls("f", []));
    expect(status).not.toBe("infra_error");
    expect(cases).toHaveLength(1);
    expect(cases[0]!.outcome).not.toBe("returned");
    await expectClean();
  });

  it("gives the same result for the same seed", async () => {
    const draw = async (seed: number): Promise<unknown> =>
      (await run(programs.random, calls("f", []), { seed })).cases[0]!.value;
    const [first, again, other] = [await draw(1), await draw(1), await draw(2)];
    expect(first).toMatchObject({ list: [{}, {}, {}] });
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });

  it("runs a program once per input", async () => {
    const result = await run(programs.reverse, { kind: "program", stdin: ["abc\n", "xy\n"] });
    expect(result.status).toBe("ok");
    expect(result.cases).toMatchObject([
      { index: 0, outcome: "returned", value: "cba\n" },
      { index: 1, outcome: "returned", value: "yx\n" },
    ]);
  });

  it("runs a script", async () => {
    const result = await run(programs.failingScript, { kind: "script", integrity: "inline" });
    expect(result.stdout.text).toBe("here\n");
    expect(result.cases).toMatchObject([{ outcome: "raised", error: { message: expect.stringContaining("why") } }]);
  });

  it("judges functions by tests in a separate process", async () => {
    const { setup, passes, fails } = programs.judge;
    const result = await run(programs.double, { kind: "judge", setup, tests: [fails, passes], exports: ["f"] });
    expect(result.status).toBe("ok");
    expect(result.cases).toMatchObject([
      { index: 0, outcome: "raised", error: { type: expect.stringContaining("Error") } },
      { index: 1, outcome: "returned" },
    ]);
  });

  it("fails code that raises during the judge's setup, without a load error", async () => {
    const setup = language === "python" ? "f(0)" : "f(0);";
    const { passes } = programs.judge;
    const result = await run(programs.raise, { kind: "judge", setup, tests: [passes, passes], exports: ["f"] });
    expect(result.status).toMatch(/^(ok|load_error)$/);
    expect(result.attempts).toBe(1);
    expect(result.cases.map(({ outcome }) => outcome)).not.toContain("returned");
  });

  it("judges classes by their instances", async () => {
    const task = { kind: "judge", tests: [programs.judge.ofCounter], exports: ["Counter"] } as const;
    expect(await run(programs.counter, task)).toMatchObject({ status: "ok", cases: [{ outcome: "returned" }] });
  });

  it("grades right and wrong code, by calls and by a judge", async () => {
    const tests = [1, 2, 3, 4].map((n) => ({ args: [plain(n)], expected: plain(2 * n) }));
    const { setup, passes } = programs.judge;
    const suites: (CallSuite | JudgeSuite)[] = [
      { kind: "calls", language, function: "f", tests },
      { kind: "judge", language, setup, exports: ["f"], tests: [{ code: passes }] },
    ];
    for (const suite of suites) {
      const grade = (code: string): Promise<unknown> => gradeCode({ sandbox: current(), code, suite, seed: 3 });
      expect(await grade(programs.double)).toMatchObject({ infra: false, passed: true, fraction: 1 });
      for (const code of [programs.alwaysEqual, programs.raise, programs.syntaxError, ""]) {
        expect(await grade(code), code).toMatchObject({ infra: false, passed: false, fraction: 0 });
      }
    }
  });

  it("gives each of many jobs its own result", async () => {
    const results = await Promise.all(
      Array.from({ length: 24 }, (_, i) => run(programs.double, calls("f", [plain(i)]), { id: `job ${i}` })),
    );
    for (const [i, { id, cases }] of results.entries()) {
      expect(id).toBe(`job ${i}`);
      expect(cases).toMatchObject([{ outcome: "returned", value: plain(2 * i) }]);
    }
    expect(current().stats()).toMatchObject({ waiting: 0, running: 0 });
  });

  it("aborts one job, before it starts and while it runs, and no other", async () => {
    const aborted = await run(programs.double, calls("f", [plain(1)]), { signal: AbortSignal.abort() });
    expect(aborted).toMatchObject({ status: "aborted", cases: [{ outcome: "missing" }] });
    const controller = new AbortController();
    const limits = { cpuMs: 60_000, wallMs: 60_000 };
    const spinning = run(programs.spin, calls("f", []), { signal: controller.signal, limits });
    const neighbours = Promise.all([1, 2, 3].map((n) => run(programs.double, calls("f", [plain(n)]))));
    await neighbours;
    controller.abort();
    expect(await spinning).toMatchObject({ status: "aborted", cases: [{ outcome: "missing" }] });
    for (const { status } of await neighbours) expect(status).toBe("ok");
    await expectClean();
  });

  it("ends running jobs when it is closed, and then rejects requests", async () => {
    const sandbox = await open({ workers: 1 });
    const request = requestOf(language, programs.spin, calls("f", []));
    const running = sandbox.execute({ ...request, limits: { cpuMs: 60_000, wallMs: 60_000 } });
    const waiting = sandbox.execute(request);
    await sandbox[Symbol.asyncDispose]();
    expect(["aborted", "infra_error"]).toContain((await running).status);
    expect(["aborted", "infra_error"]).toContain((await waiting).status);
    await sandbox[Symbol.asyncDispose]();
    await expect(sandbox.execute(request)).rejects.toMatchObject({ code: "sandbox.closed" });
  });
}

function requestOf(language: Language, code: string, task: ExecuteTask): ExecuteRequest {
  const entry = `solution.${extensions[language]}`;
  return { language, files: { [entry]: code }, entry, task };
}

function calls(name: string, ...args: readonly (readonly PlainValue[])[]): ExecuteTask {
  return { kind: "calls", function: name, cases: args.map((each) => ({ args: each })) };
}
