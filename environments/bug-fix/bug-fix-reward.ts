import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { ProgramChange } from "./program-change.ts";

/** The maximum of each reward component. */
interface Weights {
  readonly tests: number;
  readonly size: number;
  readonly line: number;
}

const alone: Weights = { tests: 0.9, size: 0.1, line: 0 };
const withFinder: Weights = { tests: 0.8, size: 0.1, line: 0.1 };

/**
 * Returns the reward components of a repair.
 *
 * - `tests`: the share of the failing hidden tests that now pass, times the share of the passing ones that still pass.
 *   The unchanged program scores 0, however few tests its bug fails.
 * - `size`: only if every test passes. It falls with the size of the change. The part of the change that exceeds the
 *   reference change is counted as a share of the program. A rewritten program keeps a fifth.
 * - `line`: if a finder named a faulty line.
 */
export function bugFixReward(options: {
  /** The grades of the program with the bug and of the repaired program, on the same tests. */
  readonly before: CodeGrade;
  readonly after: CodeGrade;
  /** The change from the program with the bug to the repaired one; undefined if the repair cannot be read. */
  readonly change: ProgramChange | undefined;
  /** The change from the program with the bug to the reference solution. */
  readonly realChange: ProgramChange | undefined;
  /** True if the finder was right; undefined without a finder. */
  readonly found?: boolean | undefined;
}): Readonly<Record<string, number>> {
  const { before, after, change, realChange, found } = options;
  const weights = found === undefined ? alone : withFinder;
  const excess = Math.max(0, (change?.share ?? 1) - (realChange?.share ?? 0));
  const size = after.passed ? Math.max(0.2, 1 - excess) : 0;
  return {
    tests: weights.tests * repaired(before, after),
    size: weights.size * size,
    ...(found === undefined ? {} : { line: found ? weights.line : 0 }),
  };
}

function repaired(before: CodeGrade, after: CodeGrade): number {
  const hidden = after.tests.filter(({ visible }) => !visible);
  const counted = hidden.length === 0 ? after.tests : hidden;
  const share = (wasPassing: boolean): number => {
    const tests = counted.filter(({ index }) => before.tests[index]!.passed === wasPassing);
    return tests.length === 0 ? 1 : tests.filter(({ passed }) => passed).length / tests.length;
  };
  return share(false) * share(true);
}
