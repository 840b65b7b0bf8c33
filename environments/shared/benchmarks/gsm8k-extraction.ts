/** An answer extraction of lm-evaluation-harness's task `gsm8k`. */
export type Gsm8kFilter = "strict" | "flexible";

/**
 * The answer extractions of lm-evaluation-harness's task `gsm8k` (lm_eval/tasks/gsm8k/gsm8k.yaml). `strict-match`
 * extracts the number after the first `####`. `flexible-extract` extracts the last number.
 */
const filters: Readonly<Record<Gsm8kFilter, { readonly pattern: RegExp; readonly pick: number }>> = {
  strict: { pattern: /#### (-?[0-9.,]+)/g, pick: 0 },
  flexible: { pattern: /(-?[$0-9.,]{2,})|(-?[0-9]+)/g, pick: -1 },
};

/** The result of a filter without a match. */
const nothing = "[invalid]";

/** Returns the answer that a filter extracts from a text, or `[invalid]` if there is none. */
export function extractGsm8kAnswer(text: string, filter: Gsm8kFilter): string {
  const { pattern, pick } = filters[filter];
  const match = [...text.matchAll(pattern)].at(pick);
  return match === undefined
    ? nothing
    : match
        .slice(1)
        .find((group) => group !== undefined && group !== "")!
        .trim();
}

/**
 * Returns true if the extracted answer matches the reference, which is a worked solution that ends in `#### N` or the
 * answer alone.
 */
export function matchesGsm8k(text: string, options: { readonly filter: Gsm8kFilter; readonly gold: string }): boolean {
  return normalized(extractGsm8kAnswer(text, options.filter)) === normalized(options.gold);
}

/**
 * Removes what `exact_match` ignores: thousands separators, dollar signs, everything up to `#### `, and a final dot.
 */
function normalized(answer: string): string {
  return answer
    .replaceAll(",", "")
    .replaceAll("$", "")
    .replace(/.*#### /gs, "")
    .replace(/\.$/, "")
    .toLowerCase();
}
