/** The maximum nesting depth of a row. The code that reads a row is recursive. */
export const deepestRow = 1_000;

/** Returns why a row of JSON text cannot be used, if it cannot. */
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
