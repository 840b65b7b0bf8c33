/** The most lists and objects within each other: what reads a row calls itself once for each. */
export const deepestRow = 1_000;

/** What makes a row of JSON text unusable, in words; undefined if nothing does. */
export function rowProblem(row: unknown): string | undefined {
  let level: unknown[] = [row];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestRow) return `lists or objects are nested more than ${deepestRow} deep`;
    const inside: unknown[] = [];
    for (const value of level) {
      if (typeof value === "number" && !Number.isFinite(value)) return "a number is too large";
      if (typeof value === "object" && value !== null) for (const child of Object.values(value)) inside.push(child);
    }
    level = inside;
  }
  return undefined;
}
