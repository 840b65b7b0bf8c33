import assert from "node:assert/strict";
import { assertCases, calls, type LanguageSubject } from "./language-subject.ts";

const longLimits = { cpuMs: 60_000, wallMs: 60_000 };

/** How a sandbox ends code that exceeds a limit, keeps jobs apart, aborts and closes. */
export const limitRules: Readonly<Record<string, (subject: LanguageSubject) => Promise<void>>> = {
  "is clean after code that changes everything it reaches": async ({ run, programs, assertClean }) => {
    await Promise.all(Array.from({ length: 4 }, () => run(programs.pollute, calls("f", []))));
    for (let i = 0; i < 4; i++) await assertClean();
  },
  "ends code that never returns": async ({ run, programs, assertClean }) => {
    const result = await run(programs.spin, calls("f", []), { limits: { cpuMs: 300, wallMs: 3_000 } });
    assert.match(result.status, /^timeout_(cpu|wall)$/);
    assertCases(result, [["missing"]], result.status);
    await assertClean();
  },
  "ends code that fills the memory": async ({ run, programs, assertClean }) => {
    const limits = { memoryMb: 128, cpuMs: 8_000, wallMs: 30_000 };
    const { status, cases } = await run(programs.fill, calls("f", []), { limits });
    assert.match(status, /^(ok|memory|signal|exited|timeout_cpu)$/);
    assert.match(cases[0]!.outcome, /^(raised|missing)$/);
    await assertClean();
  },
  "truncates output at its limit and continues": async ({ run, programs }) => {
    const result = await run(programs.flood, calls("f", []), { limits: { outputBytes: 1_000 } });
    assertCases(result, [["returned", true]]);
    assert.equal(result.stdout.truncated, true);
    assert.match(result.stdout.text, /^x{900,1000}$/);
    assert.ok(result.stdout.bytes >= 1_000, `stdout.bytes is ${result.stdout.bytes}`);
  },
  "does not return values that are too large": async ({ run, programs, assertClean }) => {
    for (const program of [programs.huge, programs.deep]) {
      const { status, cases } = await run(program, calls("f", []));
      assert.notEqual(status, "infra_error");
      assert.equal(cases.length, 1);
      assert.notEqual(cases[0]!.outcome, "returned");
      await assertClean();
    }
  },
  "gives each of many jobs its own result": async ({ sandbox, run, plain, programs }) => {
    const jobs = Array.from({ length: 24 }, (_, i) => run(programs.double, calls("f", [plain(i)]), { id: `job ${i}` }));
    for (const [i, result] of (await Promise.all(jobs)).entries()) {
      assert.equal(result.id, `job ${i}`);
      assertCases(result, [["returned", plain(2 * i)]]);
    }
    const { waiting, running } = sandbox.stats();
    assert.deepEqual({ waiting, running }, { waiting: 0, running: 0 });
  },
  "aborts one job, before it starts and while it runs, and no other": async (subject) => {
    const { run, plain, programs, assertClean } = subject;
    const aborted = await run(programs.double, calls("f", [plain(1)]), { signal: AbortSignal.abort() });
    assertCases(aborted, [["missing"]], "aborted");
    const controller = new AbortController();
    const spinning = run(programs.spin, calls("f", []), { signal: controller.signal, limits: longLimits });
    const neighbours = await Promise.all([1, 2, 3].map((n) => run(programs.double, calls("f", [plain(n)]))));
    controller.abort();
    assertCases(await spinning, [["missing"]], "aborted");
    for (const { status } of neighbours) assert.equal(status, "ok");
    await assertClean();
  },
  "ends running jobs when it is closed, and then rejects requests": async ({ open, request, programs }) => {
    const sandbox = await open();
    const job = request(programs.spin, calls("f", []));
    const jobs = [sandbox.execute({ ...job, limits: longLimits }), sandbox.execute(job)];
    await sandbox[Symbol.asyncDispose]();
    for (const { status } of await Promise.all(jobs)) assert.match(status, /^(aborted|infra_error)$/);
    await sandbox[Symbol.asyncDispose]();
    await assert.rejects(sandbox.execute(job), { code: "sandbox.closed" });
  },
};
