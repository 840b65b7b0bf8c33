import { match } from "ts-pattern";
import type { CaseObservation, CodeError, ExecuteResult, Language } from "../execution.ts";
import type { PlainValue } from "../plain-value.ts";
import { showPlainValue } from "../plain-value-text.ts";
import { isAsExpected } from "./comparator.ts";
import type { CallTest, TestSuite } from "./test-suite.ts";

/**
 * The result of one test, in words for feedback. For a hidden test, everything that would reveal it is omitted: the
 * expected value and, for a judge's test, its code and the error's message.
 */
export interface TestVerdict {
  /** The index in the suite, from 0. */
  readonly index: number;
  readonly passed: boolean;
  readonly visible: boolean;
  /** `not-run`: the code was not loaded, or it ended or reached a limit before this test. */
  readonly outcome: "passed" | "wrong" | "raised" | "unsupported" | "not-run";
  /** The call, the program's input, or the judge's code. */
  readonly called?: string;
  /** The returned value or the printed output. */
  readonly got?: string;
  readonly expected?: string;
  /** The raised error. */
  readonly error?: CodeError;
}

/** Returns the verdict on the test at `index`. A test without an observation was not run. */
export function judgeTest(options: {
  readonly suite: TestSuite;
  readonly index: number;
  readonly observed: CaseObservation | undefined;
  readonly execution: ExecuteResult;
}): TestVerdict {
  const { suite, index, observed, execution } = options;
  const visible = suite.tests[index]!.visible === true;
  const outcome = outcomeOf(suite, index, observed);
  const { called, expected } = wording(suite, index);
  const { value } = observed ?? {};
  const error = observed?.error ?? (outcome === "not-run" ? execution.error : undefined);
  const givesAway = suite.kind === "judge" && !visible;
  return {
    index,
    passed: outcome === "passed",
    visible,
    outcome,
    ...(givesAway ? {} : { called }),
    ...(value === undefined || suite.kind === "judge" ? {} : { got: shown(suite, value) }),
    ...(visible && expected !== undefined ? { expected } : {}),
    ...(error === undefined ? {} : { error: givesAway && outcome === "raised" ? { ...error, message: "" } : error }),
  };
}

function outcomeOf(suite: TestSuite, index: number, observed: CaseObservation | undefined): TestVerdict["outcome"] {
  if (observed === undefined || observed.outcome === "missing") return "not-run";
  if (observed.outcome !== "returned") return observed.outcome;
  if (suite.kind === "judge") return "passed";
  if (observed.value === undefined) return "unsupported";
  const test = suite.tests[index]!;
  const comparator = test.comparator ?? ({ kind: suite.kind === "program" ? "text" : "exact" } as const);
  const { expected } = test;
  return isAsExpected({ got: observed.value, expected, language: suite.language, comparator }) ? "passed" : "wrong";
}

function wording(suite: TestSuite, index: number): { readonly called: string; readonly expected?: string } {
  return match(suite)
    .with({ kind: "calls" }, ({ tests, function: name, language }) => {
      const test = tests[index]!;
      const called = showCall(name, test, language);
      const kind = test.comparator?.kind;
      if (kind === "truthy" || kind === "falsy") return { called, expected: kind };
      return { called, expected: shown(suite, test.expected) };
    })
    .with({ kind: "program" }, ({ tests }) => ({ called: tests[index]!.stdin, expected: tests[index]!.expected }))
    .with({ kind: "judge" }, ({ tests }) => ({ called: tests[index]!.code }))
    .exhaustive();
}

function showCall(name: string, { args, kwargs = {} }: CallTest, language: Language): string {
  const named = Object.entries(kwargs).map(([key, value]) => `${key}=${showPlainValue(value, { language })}`);
  return `${name}(${[...args.map((value) => showPlainValue(value, { language })), ...named].join(", ")})`;
}

/** Shows a program's text unchanged, and any other value as source. */
function shown(suite: TestSuite, value: PlainValue): string {
  if (suite.kind === "program" && typeof value === "string") return value;
  return showPlainValue(value, { language: suite.language });
}
