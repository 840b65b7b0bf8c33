import { match } from "ts-pattern";
import { type ErrorData, LyceumError } from "../../src/contract/errors/index.ts";
import { checkVersion } from "../../src/contract/specification-version.ts";
import { createRandom } from "../../src/core/random/random.ts";
import type { CaseObservation, ExecuteRequest, ExecuteResult, ExecuteTask, Language } from "../execution.ts";
import { defaultLimits } from "../limits.ts";
import { isPlainValue } from "../plain-value-check.ts";
import type { Sandbox } from "../sandbox.ts";
import type { TestSuite } from "./test-suite.ts";
import { judgeTest, type TestVerdict } from "./test-verdict.ts";

/** The options of {@link gradeCode}. */
export interface GradeOptions {
  readonly sandbox: Sandbox;
  /** The complete source, in the suite's language. */
  readonly code: string;
  readonly suite: TestSuite;
  /** Seeds the order of calls and runs, and the sandbox. 0 by default. */
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

/** A grade, or the reason why there is none if the sandbox failed. */
export type Grade = CodeGrade | NoGrade;

/** The grade of the code. */
export interface CodeGrade {
  readonly infra: false;
  /** True if every test passed and no limit was reached. */
  readonly passed: boolean;
  /** The share of passed tests, from 0 to 1. */
  readonly fraction: number;
  /** In the order of the suite. */
  readonly tests: readonly TestVerdict[];
  readonly status: Exclude<ExecuteResult["status"], "infra_error" | "aborted">;
  readonly execution: ExecuteResult;
}

/** The sandbox failed in every attempt. Nothing is known about the code, so its reward is unscored, never 0. */
export interface NoGrade {
  readonly infra: true;
  readonly status: "infra_error";
  readonly error: ErrorData;
}

/**
 * Runs code in a sandbox, and compares the results outside of it with the suite's expected values. Calls and program
 * runs are shuffled by the seed, so that code cannot answer by their order. Rejects with `data.malformed` if the suite
 * has no tests, with the sandbox's own errors if it cannot run the request, and with the signal's reason.
 */
export async function gradeCode(options: GradeOptions): Promise<Grade> {
  const { sandbox, code, suite, seed = 0, signal } = options;
  signal?.throwIfAborted();
  checkVersion(`Sandbox "${sandbox.info.backend}"`, sandbox);
  if (suite.tests.length === 0) {
    throw new LyceumError({
      code: "data.malformed",
      message: "A test suite has no tests, so any code would pass.",
      hint: "Give it at least one test, or leave the task out.",
    });
  }
  const places = suite.tests.map((_, i) => i);
  const order = suite.kind === "judge" ? places : createRandom(seed).shuffle(places);
  const execution = await sandbox.execute({
    ...entryOf(suite.language, code),
    task: taskOf(suite, order),
    seed,
    limits: suite.limits,
    signal,
  });
  signal?.throwIfAborted();
  const { status } = execution;
  if (status === "infra_error" || status === "aborted") return noGrade(execution);
  const observed = inOrder(execution, order, suite.limits?.depth ?? defaultLimits.depth);
  if (observed === undefined) return grade(suite, { ...execution, status: "violation" }, []);
  return grade(suite, execution, observed);
}

function grade(suite: TestSuite, execution: ExecuteResult, observed: readonly CaseObservation[]): CodeGrade {
  const status = execution.status as CodeGrade["status"];
  const tests = suite.tests.map((_, i) => judgeTest({ suite, index: i, observed: observed[i], execution }));
  const passing = tests.filter(({ passed }) => passed).length;
  return {
    infra: false,
    passed: status === "ok" && passing === tests.length,
    fraction: passing / tests.length,
    tests,
    status,
    execution,
  };
}

/**
 * Returns the observations in the order of the suite. Undefined unless there is exactly one valid observation per test.
 */
function inOrder(
  { cases }: ExecuteResult,
  order: readonly number[],
  depth: number,
): readonly CaseObservation[] | undefined {
  const observed: CaseObservation[] = [];
  for (const observation of cases) {
    const place = order[observation.index];
    if (place === undefined || observed[place] !== undefined) return undefined;
    if (observation.value !== undefined && !isPlainValue(observation.value, depth)) return undefined;
    observed[place] = { ...observation, index: place };
  }
  return cases.length === order.length ? observed : undefined;
}

const extensions = { python: "py", javascript: "js", typescript: "ts" } as const;

function entryOf(language: Language, code: string): Pick<ExecuteRequest, "language" | "files" | "entry"> {
  const entry = `solution.${extensions[language]}`;
  return { language, files: { [entry]: code }, entry };
}

function taskOf(suite: TestSuite, order: readonly number[]): ExecuteTask {
  return match(suite)
    .returnType<ExecuteTask>()
    .with({ kind: "calls" }, ({ kind, tests, function: name, isolate }) => {
      const cases = order.map((i) => {
        const { args, kwargs } = tests[i]!;
        return { args, kwargs };
      });
      return { kind, function: name, cases, isolate };
    })
    .with({ kind: "program" }, ({ kind, tests }) => ({ kind, stdin: order.map((i) => tests[i]!.stdin) }))
    .with({ kind: "judge" }, ({ kind, tests, setup, exports }) => ({
      kind,
      tests: tests.map(({ code }) => code),
      exports,
      setup,
    }))
    .exhaustive();
}

function noGrade({ status, error }: ExecuteResult): NoGrade {
  const because = error === undefined ? "" : `: ${error.message}`;
  return {
    infra: true,
    status: "infra_error",
    error: {
      name: "LyceumError",
      code: status === "aborted" ? "sandbox.closed" : "sandbox.unavailable",
      message: `The sandbox could not run the code${because}`,
    },
  };
}
