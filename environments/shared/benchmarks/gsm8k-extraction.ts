/** A reading of lm-evaluation-harness's task `gsm8k`. */
export type Gsm8kFilter = "strict" | "flexible";

/**
 * The answers that lm-evaluation-harness's task `gsm8k` reads from an output (lm_eval/tasks/gsm8k/gsm8k.yaml):
 * `strict-match` the number after the first `####`, `flexible-extract` the last number.
 */
const filters: Readonly<Record<Gsm8kFilter, { readonly pattern: RegExp; readonly pick: number }>> = {
  strict: { pattern: /#### (-?[0-9.,]+)/g, pick: 0 },
  flexible: { pattern: /(-?[$0-9.,]{2,})|(-?[0-9]+)/g, pick: -1 },
};

/** What a filter gives where it finds nothing. */
const nothing = "[invalid]";

/** The answer that a filter reads from a text. */
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

/** Whether a filter's answer matches the reference, a worked solution that ends in `#### N` or its answer alone. */
export function matchesGsm8k(text: string, options: { readonly filter: Gsm8kFilter; readonly gold: string }): boolean {
  return normalized(extractGsm8kAnswer(text, options.filter)) === normalized(options.gold);
}

/** What `exact_match` leaves out before it compares: thousands separators, dollars, all up to `#### `, a last dot. */
function normalized(answer: string): string {
  return answer
    .replaceAll(",", "")
    .replaceAll("$", "")
    .replace(/.*#### /gs, "")
    .replace(/\.$/, "")
    .toLowerCase();
}
