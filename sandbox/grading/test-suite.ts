import type { Language } from "../execution.ts";
import type { Limits } from "../limits.ts";
import type { PlainValue } from "../plain-value.ts";
import type { Comparator } from "./comparator.ts";

/**
 * The tests of one piece of code, with their expected results. They are trusted and never enter the process that runs
 * the code. A suite is plain data, except for comparators of kind `custom`.
 */
export type TestSuite = CallSuite | ProgramSuite | JudgeSuite;

interface SuiteBase {
  readonly language: Language;
  readonly limits?: Partial<Limits>;
}

/** Calls of one function, with their expected results. */
export interface CallSuite extends SuiteBase {
  readonly kind: "calls";
  /** As in a task of kind `calls`. */
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
  /** True if the test may be shown to the author of the code. False by default. */
  readonly visible?: boolean;
}

/** Runs of a program, with their expected output. */
export interface ProgramSuite extends SuiteBase {
  readonly kind: "program";
  readonly tests: readonly ProgramTest[];
}

/** One run. Its comparator is `text` by default. */
export interface ProgramTest {
  readonly stdin: string;
  readonly expected: string;
  readonly comparator?: Comparator;
  readonly visible?: boolean;
}

/** Pieces of test code that run in order in one namespace, separate from the tested code. */
export interface JudgeSuite extends SuiteBase {
  readonly kind: "judge";
  readonly setup?: string;
  readonly exports: readonly string[];
  readonly tests: readonly JudgeTest[];
}

/** One piece of test code. It passes if it ends without an error and has compared something. */
export interface JudgeTest {
  readonly code: string;
  readonly visible?: boolean;
}
