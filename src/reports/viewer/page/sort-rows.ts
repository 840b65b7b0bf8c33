/** The value to sort a row by. Rows without a value come last in both directions. */
export type SortValue = number | string | undefined;

/** Rows in the order of a value; equal ones stay in the order in which they were. */
export function sortRows<Row>(
  rows: readonly Row[],
  { by, descending }: { readonly by: (row: Row) => SortValue; readonly descending: boolean },
): Row[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [first, second] = [by(one), by(other)];
    if (first === undefined || second === undefined) return Number(first === undefined) - Number(second === undefined);
    if (typeof first === "number" && typeof second === "number") return sign * (first - second);
    return sign * String(first).localeCompare(String(second), "en", { numeric: true });
  });
}
