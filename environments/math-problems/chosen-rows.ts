import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { filterTaskset } from "../../src/core/taskset/filter-taskset.ts";
import { levelOf, type MathProblemRow } from "./math-problem-row.ts";

/** The criteria that select problems. */
export interface RowChoice {
  /** A level, or the lowest and the highest level. */
  readonly level?: number | readonly [lowest: number, highest: number] | undefined;
  /** Values of the data's `type`. Case is ignored. */
  readonly types?: readonly string[] | undefined;
}

/**
 * Selects rows and keeps their order and ids. Reads all rows once. A row without a level or type is left out if a level
 * or type is required. Throws `data.out-of-range` if no row is left.
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
      message: `None of the ${length} problems of "${rows.name}" has the requested level and type.`,
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
