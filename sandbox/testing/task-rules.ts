import assert from "node:assert/strict";
import type { ExecuteRequest, ExecuteTask } from "../execution.ts";
import { gradeCode } from "../grading/grade-code.ts";
import type { CallSuite, JudgeSuite } from "../grading/test-suite.ts";
import { assertCases, calls, type LanguageSubject } from "./language-subject.ts";

/** How a sandbox runs each kind of task, and what it reports. */
export const taskRules: Readonly<Record<string, (subject: LanguageSubject) => Promise<void>>> = {
  "rejects invalid requests": async ({ sandbox, request }) => {
    const valid = request("", calls("f", []));
    const others = (["python", "javascript", "typescript"] as const).filter(
      (other) => !sandbox.info.languages.includes(other),
    );
    const paths = ["../up", "/root", "a//b", "a/../b", ".", ""];
    const refused: ExecuteRequest[] = [
      ...others.map((other) => ({ ...valid, language: other })),
      { ...valid, entry: "missing.py" },
      ...paths.map((path) => ({ ...valid, files: { [path]: "" }, entry: path })),
    ];
    for (const each of refused) await assert.rejects(sandbox.execute(each), { code: "sandbox.request" }, each.entry);
  },
  "calls a function once per case, in order": async ({ run, plain, programs, language }) => {
    const result = await run(programs.double, calls("f", [plain(1)], [plain("ab")], [plain(1.5)]), { id: "mine" });
    assert.equal(result.id, "mine");
    assert.equal(result.attempts, 1);
    assert.ok(result.integrity.nonceOk, "integrity.nonceOk is false");
    assertCases(result, [
      ["returned", plain(2)],
      ["returned", "abab"],
      ["returned", language === "python" ? { float: "3.0" } : plain(3)],
    ]);
    assert.equal(result.error, undefined);
    assert.ok(result.usage.wallMs > 0, `usage.wallMs is ${result.usage.wallMs}`);
    assert.ok(result.worker.jobs > 0, `worker.jobs is ${result.worker.jobs}`);
  },
  "runs no case if there are none": async ({ run, programs }) => {
    assertCases(await run(programs.double, calls("f")), []);
  },
  "reports the error of a case and continues": async ({ run, plain, programs }) => {
    const result = await run(programs.raise, calls("f", [plain(1)], [plain(0)], [plain(2)]));
    assertCases(result, [["returned", plain(1)], ["raised"], ["returned", plain(2)]]);
    const { type, message, line } = result.cases[1]!.error!;
    assert.deepEqual([type, line], [programs.raisedType, 2]);
    assert.match(message, /no/);
  },
  "reports the errors of code that cannot be loaded": async ({ run, programs }) => {
    for (const program of [programs.syntaxError, programs.raiseAtLoad]) {
      const result = await run(program, calls("f", [], []));
      assertCases(result, [["missing"], ["missing"]], "load_error");
      assert.notEqual(result.error!.type, "");
    }
  },
  "reports a missing function": async ({ run, programs }) => {
    assertCases(await run(programs.double, calls("g", [])), [["missing"]], "load_error");
  },
  "reports values that are not plain as unsupported": async ({ run, programs }) => {
    assertCases(await run(programs.unsupported, calls("f", [])), [["unsupported"]]);
  },
  "keeps state between the cases of a job, but not if each case has its own process": async (subject) => {
    const { run, plain, programs } = subject;
    const task = calls("f", [], [], []);
    const returned = (values: readonly number[]) => values.map((value) => ["returned", plain(value)] as const);
    assertCases(await run(programs.count, task), returned([1, 2, 3]));
    assertCases(await run(programs.count, { ...task, isolate: "case" } as ExecuteTask), returned([1, 1, 1]));
  },
  "gives the same result for the same seed": async ({ run, programs }) => {
    const draw = async (seed: number) => (await run(programs.random, calls("f", []), { seed })).cases[0]!.value;
    const [first, again, other] = [await draw(1), await draw(1), await draw(2)];
    assert.equal((first as { readonly list: readonly unknown[] }).list.length, 3);
    assert.deepEqual(again, first);
    assert.notDeepEqual(other, first);
  },
  "runs a program once per input": async ({ run, programs }) => {
    const result = await run(programs.reverse, { kind: "program", stdin: ["abc\n", "xy\n"] });
    assertCases(result, [
      ["returned", "cba\n"],
      ["returned", "yx\n"],
    ]);
  },
  "runs a script": async ({ run, programs }) => {
    const { stdout, cases } = await run(programs.failingScript, { kind: "script", integrity: "inline" });
    assert.equal(stdout.text, "here\n");
    assert.deepEqual([cases.length, cases[0]!.outcome], [1, "raised"]);
    assert.match(cases[0]!.error!.message, /why/);
  },
  "judges functions by tests in a separate process": async ({ run, programs }) => {
    const { setup, passes, fails } = programs.judge;
    const result = await run(programs.double, { kind: "judge", setup, tests: [fails, passes], exports: ["f"] });
    assertCases(result, [["raised"], ["returned"]]);
    assert.match(result.cases[0]!.error!.type, /Error/);
  },
  "fails code that raises during the judge's setup, without a load error": async ({ run, programs, language }) => {
    const setup = language === "python" ? "f(0)" : "f(0);";
    const { passes } = programs.judge;
    const result = await run(programs.raise, { kind: "judge", setup, tests: [passes, passes], exports: ["f"] });
    assert.match(result.status, /^(ok|load_error)$/);
    assert.equal(result.attempts, 1);
    for (const { outcome } of result.cases) assert.notEqual(outcome, "returned");
  },
  "judges classes by their instances": async ({ run, programs }) => {
    const task = { kind: "judge", tests: [programs.judge.ofCounter], exports: ["Counter"] } as const;
    const [judged] = (await run(programs.counter, task)).cases;
    assert.equal(judged!.outcome, "returned", judged!.error?.message);
  },
  "grades right and wrong code, by calls and by a judge": async ({ sandbox, plain, programs, language }) => {
    const tests = [1, 2, 3, 4].map((n) => ({ args: [plain(n)], expected: plain(2 * n) }));
    const { setup, passes } = programs.judge;
    const suites: (CallSuite | JudgeSuite)[] = [
      { kind: "calls", language, function: "f", tests },
      { kind: "judge", language, setup, exports: ["f"], tests: [{ code: passes }] },
    ];
    const wrong = [programs.alwaysEqual, programs.raise, programs.syntaxError, ""];
    for (const suite of suites) {
      for (const code of [programs.double, ...wrong]) {
        const grade = await gradeCode({ sandbox, code, suite, seed: 3 });
        const passed = code === programs.double;
        assert.partialDeepStrictEqual(grade, { infra: false, passed, fraction: Number(passed) }, code);
      }
    }
  },
};
