import { equalExpressions } from "./equal-expressions.ts";
import { splitTop } from "./split-top.ts";

/** The entries of a matrix as expressions, row by row. */
export type MatrixEntries = readonly (readonly string[])[];

const term = /^(.*?)(?:\\cdot|\\times)?\s*\\begin\{[pb]matrix\}([\s\S]*?)\\end\{[pb]matrix\}$/;

/**
 * Returns the entries of a sum of matrices as unevaluated expressions. Each matrix may have a factor. Undefined for
 * anything else, and if the sizes differ.
 */
export function matrixSum(latex: string): { readonly entries: MatrixEntries; readonly terms: number } | undefined {
  const { parts, separators } = splitTop(latex.trim(), /^[+-]/);
  const signed = parts
    .map((part, i) => ({ sign: separators[i - 1] ?? "+", part: part.trim() }))
    .filter(({ part }, i) => i > 0 || part !== "");
  const matrices = signed.map(({ sign, part }) => {
    const match = term.exec(part);
    if (match === null || match[2]!.includes("\\begin") || match[1]!.includes("\\begin")) return undefined;
    const factor = `${sign}(${match[1]!.trim() || "1"})`;
    const rows = match[2]!.split("\\\\").filter((row) => row.trim() !== "");
    return rows.map((row) => row.split("&").map((entry) => `${factor}\\cdot(${entry.trim()})`));
  });
  const [first] = matrices;
  if (first === undefined) return undefined;
  const fits = matrices.every(
    (rows) => rows?.length === first.length && rows.every((row, i) => row.length === first[i]!.length),
  );
  if (!fits) return undefined;
  const entries = first.map((row, i) => row.map((_, j) => matrices.map((rows) => rows![i]![j]!).join("")));
  return { entries: entries.map((row) => row.map((entry) => entry.replace(/^\+/, ""))), terms: matrices.length };
}

/** True if two sums of matrices have entries of equal value. */
export function equalMatrixSums(a: string, b: string): boolean {
  const [first, second] = [matrixSum(a)?.entries, matrixSum(b)?.entries];
  if (first === undefined || second === undefined || first.length !== second.length) return false;
  return first.every(
    (row, i) => row.length === second[i]!.length && row.every((entry, j) => equalExpressions(entry, second[i]![j]!)),
  );
}
