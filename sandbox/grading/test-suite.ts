import type { Language } from "../execution.ts";
import type { Limits } from "../limits.ts";
import type { PlainValue } from "../plain-value.ts";
import type { Comparator } from "./comparator.ts";

/**
 * Tests of one piece of code, with what they expect: trusted, and kept out of the process that runs the code. A suite
 * is plain data, but for comparators of kind `custom`.
 */
export type TestSuite = CallSuite | ProgramSuite | JudgeSuite;

interface SuiteBase {
  readonly language: Language;
  readonly limits?: Partial<Limits>;
}

/** Calls of one function, with what each should return. */
export interface CallSuite extends SuiteBase {
  readonly kind: "calls";
  /** As in the task of kind `calls`. */
  readonly function: string;
  readonly tests: readonly CallTest[];
  readonly isolate?: "job" | "case";
}

/** One call. */
export interface CallTest {
  readonly args: readonly PlainValue[];
  readonly kwargs?: Readonly<Record<string, PlainValue>>;
  readonly expected: PlainValue;
  readonly comparator?: Comparator;
  /** May be shown to whoever writes the code; hidden by default. */
  readonly visible?: boolean;
}

/** Runs of a program, with what each should print. */
export interface ProgramSuite extends SuiteBase {
  readonly kind: "program";
  readonly tests: readonly ProgramTest[];
}

/** One run; `text` is its comparator by default. */
export interface ProgramTest {
  readonly stdin: string;
  readonly expected: string;
  readonly comparator?: Comparator;
  readonly visible?: boolean;
}

/** Pieces of test code, run in order in one namespace, apart from what they test. */
export interface JudgeSuite extends SuiteBase {
  readonly kind: "judge";
  readonly setup?: string;
  readonly exports: readonly string[];
  readonly tests: readonly JudgeTest[];
}

/** One piece of test code: it passes if it ends without an error, and not because there was nothing to compare. */
export interface JudgeTest {
  readonly code: string;
  readonly visible?: boolean;
}

/** A suite whose first fifth of tests, rounded up, is visible and the others are hidden; of a single test, none is. */
export function showFifth<Suite extends TestSuite>(suite: Suite): Suite {
  const { length } = suite.tests;
  const shown = length > 1 ? Math.ceil(length / 5) : 0;
  return { ...suite, tests: suite.tests.map((test, i) => ({ ...test, visible: i < shown })) };
}
