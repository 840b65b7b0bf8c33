/** The value by which a row is sorted. Rows without a value are last in both directions. */
export type SortValue = number | string | undefined;

/** Sorts rows by a value. Equal rows keep their order. */
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
