import { type CodeGrade, gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../sandbox/grading/test-suite.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Random } from "../../src/core/random/random.ts";
import type { BugFixTask } from "./bug-fix-task.ts";
import { listMutations, mutated, mutationGroups } from "./mutation.ts";

/** A program that fails tests. */
export interface PlantedBug {
  /** The whole program. */
  readonly program: string;
  /** The kinds of its mutations; empty for a real bug. */
  readonly kinds: readonly string[];
  /** The task's tests. Up to a fifth are visible, and all visible ones fail. At least one failing test is hidden. */
  readonly suite: TestSuite;
  /** The grade of the program. */
  readonly grade: CodeGrade;
}

/** The maximum number of mutants to try. */
const tries = 24;
/** The time limits of a mutant. A mutant that exceeds them probably loops forever and is not used. */
const mutantLimits = { cpuMs: 2_000, wallMs: 20_000 };

/**
 * Returns the program of a task with a bug. If the task has a real bug, returns it. Otherwise tries mutations in random
 * order until a program loads, terminates and fails two or more tests. If no tried mutant does, one failing test
 * suffices.
 *
 * Rejects with `data.malformed` if the real bug or all mutants pass every test, with `sandbox.unavailable` if the
 * sandbox fails, and with the signal's reason.
 */
export async function plantBug(options: {
  readonly task: BugFixTask;
  readonly sandbox: Sandbox;
  /** The number of mutations in the bug. */
  readonly mutations: number;
  /** Makes every test visible. */
  readonly shareTests: boolean;
  readonly random: Random;
  readonly signal?: AbortSignal;
}): Promise<PlantedBug> {
  const { task, sandbox, shareTests, random, signal } = options;
  const { suite } = task.problem;
  const bugOf = (program: string, grade: CodeGrade, kinds: readonly string[]): PlantedBug => {
    const shown = shareTests ? suite.tests.keys() : fewFailing(grade);
    return { program, kinds, suite: showing(suite, new Set(shown)), grade };
  };
  const grade = async (program: string, limits: TestSuite["limits"]): Promise<CodeGrade> => {
    const graded = await gradeCode({
      sandbox,
      code: program,
      suite: { ...suite, ...(limits === undefined ? {} : { limits }) },
      signal,
    });
    if (!graded.infra) return graded;
    throw new LyceumError({
      code: "sandbox.unavailable",
      message: graded.error.message,
      hint: "Fix the sandbox, or choose another one with the option sandbox.",
    });
  };
  if (task.buggy !== undefined) {
    const graded = await grade(task.buggy, suite.limits);
    if (!graded.passed) return bugOf(task.buggy, graded, []);
    throw nothingFails(task.problem.id, "its program with a bug passes every test");
  }
  const program = task.solution;
  const mutations = await listMutations({ sandbox, program, start: task.preamble.length, signal });
  const groups = mutationGroups({ mutations, count: options.mutations, random });
  let weaker: PlantedBug | undefined;
  for (const group of groups.slice(0, tries)) {
    const mutant = mutated(program, group);
    const graded = await grade(mutant, { ...suite.limits, ...mutantLimits });
    if (graded.status !== "ok" || graded.passed) continue;
    const bug = bugOf(
      mutant,
      graded,
      group.map(({ kind }) => kind),
    );
    if (suite.tests.length === 1 || fewFailing(graded).length > 0) return bug;
    weaker ??= bug;
  }
  if (weaker !== undefined) return weaker;
  throw nothingFails(task.problem.id, "no mutation of its solution fails a test");
}

/** Returns the failing tests to show: up to a fifth of all tests, and at least one failing test stays hidden. */
function fewFailing({ tests }: CodeGrade): readonly number[] {
  const failing = tests.flatMap(({ passed, index }) => (passed ? [] : [index]));
  return failing.slice(0, Math.min(Math.ceil(tests.length / 5), failing.length - 1));
}

function showing<Suite extends TestSuite>(suite: Suite, shown: ReadonlySet<number>): Suite {
  return { ...suite, tests: suite.tests.map((test, i) => ({ ...test, visible: shown.has(i) })) };
}

function nothingFails(id: string, why: string): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `No bug can be put into ${id}: ${why}.`,
    hint: "Leave the problem out, or check that its tests can fail.",
    data: { task: id },
  });
}
