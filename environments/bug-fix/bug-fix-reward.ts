import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { ProgramChange } from "./program-change.ts";

/** What a repair is worth at most, by component. */
interface Weights {
  readonly tests: number;
  readonly size: number;
  readonly line: number;
}

const alone: Weights = { tests: 0.9, size: 0.1, line: 0 };
const withFinder: Weights = { tests: 0.8, size: 0.1, line: 0.1 };

/**
 * What a repair earns, by name.
 *
 * - `tests`: the share of the failing hidden tests that pass now, times the share of the passing ones that still do. So
 *   the program as it was earns nothing, however few tests its bug fails.
 * - `size`: only where every test passes, and the more the smaller the change is. What the change takes beyond that of
 *   the real one is counted as a share of the program; a program written anew keeps a fifth.
 * - `line`: where a finder named a line that is wrong.
 */
export function bugFixReward(options: {
  /** How the program with the bug did, and how the repaired one did, on the same tests. */
  readonly before: CodeGrade;
  readonly after: CodeGrade;
  /** From the program with the bug to the repaired one; undefined where that cannot be read. */
  readonly change: ProgramChange | undefined;
  /** From the program with the bug to the right one. */
  readonly realChange: ProgramChange | undefined;
  /** Whether the finder was right; undefined without a finder. */
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
