import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { filterTaskset } from "../../src/core/taskset/filter-taskset.ts";
import { levelOf, type MathProblemRow } from "./math-problem-row.ts";

/** Which problems are served. */
export interface RowChoice {
  /** A level, or the lowest and the highest. */
  readonly level?: number | readonly [lowest: number, highest: number] | undefined;
  /** Names as in the data's `type`; letters' case does not matter. */
  readonly types?: readonly string[] | undefined;
}

/**
 * The rows of a choice, in their order and with their ids; all are read through once to find them. Rows without a
 * level or a type are left out where it is asked for. Throws `data.out-of-range` where nothing is left.
 */
export async function chosenRows(
  rows: Taskset<MathProblemRow>,
  choice: RowChoice,
  options: { readonly signal?: AbortSignal } = {},
): Promise<Taskset<MathProblemRow>> {
  if (choice.level === undefined && choice.types === undefined) return rows;
  const { length } = rows;
  if (length === "unbounded") return rows;
  const chosen = await filterTaskset({ ...rows, length }, (row) => isChosen(row, choice), options);
  if (chosen.length === 0) {
    throw new LyceumError({
      code: "data.out-of-range",
      message: `None of the ${length} problems of "${rows.name}" has the level and type asked for.`,
      hint: 'Look at "level" and "type" of the rows; MATH has levels 1 to 5 and types such as Algebra.',
      data: { level: choice.level ?? null, types: choice.types ?? null },
    });
  }
  return chosen;
}

function isChosen(row: MathProblemRow, { level, types }: RowChoice): boolean {
  if (level !== undefined) {
    const [lowest, highest] = typeof level === "number" ? [level, level] : level;
    const found = levelOf(row);
    if (found < lowest || found > highest) return false;
  }
  return types === undefined || types.some((type) => type.toLowerCase() === row.type?.toLowerCase());
}
