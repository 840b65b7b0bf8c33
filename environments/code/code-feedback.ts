import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../sandbox/grading/test-suite.ts";
import type { TestVerdict } from "../../sandbox/grading/test-verdict.ts";
import { showPlainValue } from "../../sandbox/plain-value-text.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import type { CodeOptions } from "./code-options.ts";
import { codeLevels } from "./code-reward.ts";

/** The visible tests of a suite, as source. */
export function visibleTests(suite: TestSuite): readonly { readonly index: number; readonly text: string }[] {
  const { language } = suite;
  return suite.tests.flatMap((test, index) => {
    if (test.visible !== true) return [];
    if ("code" in test) return [{ index, text: test.code }];
    if ("stdin" in test) return [{ index, text: `${test.stdin} -> ${test.expected}` }];
    const args = test.args.map((value) => showPlainValue(value, { language })).join(", ");
    const name = suite.kind === "calls" ? suite.function : "";
    const equals = language === "python" ? "==" : "===";
    return [{ index, text: `${name}(${args}) ${equals} ${showPlainValue(test.expected, { language })}` }];
  });
}

/** The visible tests that feedback uses. */
function slice<Item>(items: readonly Item[], wanted: CodeOptions["sandboxSlice"]): readonly Item[] {
  if (wanted === 0 || wanted === null || wanted === "all") return items;
  return wanted > 0 ? items.slice(0, wanted) : items.slice(wanted);
}

/** What the agent reads after a turn that did not pass. Nothing in it comes from a hidden test. */
export function codeFeedback(options: {
  readonly problem: CodeProblem;
  readonly grade: CodeGrade | undefined;
  readonly mode: CodeOptions["mode"];
  readonly sandboxSlice: CodeOptions["sandboxSlice"];
}): string {
  const { problem, grade, mode, sandboxSlice } = options;
  if (mode === "plain" || grade === undefined) return "";
  const levels = codeLevels(grade);
  const shown = slice(
    grade.tests.filter(({ visible }) => visible),
    sandboxSlice,
  );
  const passing = shown.filter(({ passed }) => passed).length;
  if (mode === "passed") {
    const all = levels.definition && passing === shown.length && shown.length > 0;
    return all ? "The visible tests passed, but not every test did." : "Not every level passed.";
  }
  const tests = shown.length === 0 ? [] : [`Visible tests: ${passing} of ${shown.length} passed.`];
  const syntax = `Syntax: ${levels.syntax ? "ok" : "not ok"}`;
  const definition = `Definition of ${problem.entryPoint}: ${levels.definition ? "ok" : "not ok"}`;
  if (mode === "level_passed") return [syntax, definition, ...tests].join("\n");
  const { error } = grade.execution;
  const reason = grade.status === "ok" || error === undefined ? "" : ` (${error.type}: ${error.message}${line(error)})`;
  const failures = shown.flatMap((verdict) => (verdict.passed ? [] : [failure(verdict)]));
  return [
    levels.syntax ? syntax : syntax + reason,
    levels.syntax ? definition + reason : definition,
    ...tests,
    ...failures,
    ...(levels.definition && passing === shown.length ? ["Not every hidden test passed."] : []),
  ].join("\n");
}

function failure({ called, got, expected, error, outcome }: TestVerdict): string {
  if (error !== undefined) return `Failed: ${called} raised ${error.type}: ${error.message}`;
  if (got === undefined) return `Failed: ${called} (${outcome})`;
  return `Failed: ${called} gave ${got}${expected === undefined ? "" : `, expected ${expected}`}`;
}

function line(error: { readonly line?: number }): string {
  return error.line === undefined ? "" : `, line ${error.line}`;
}
