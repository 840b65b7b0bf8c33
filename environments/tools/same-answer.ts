/**
 * True where two answers are the same: equal numbers, compared by all their digits, or equal text, whatever its
 * letters' case, spaces and full stop at the end. Part of an answer is never the answer.
 */
export function sameAnswer(given: string, right: string): boolean {
  const [first, second] = [plain(given), plain(right)];
  if (first === "" || second === "") return false;
  const [a, b] = [digitsOf(first), digitsOf(second)];
  return a === undefined || b === undefined ? first === second : a === b;
}

function plain(text: string): string {
  return text.normalize("NFKC").trim().replace(/\s+/g, " ").replace(/\.$/, "").toLowerCase();
}

/** A decimal number in one form: no separators, no zeros that mean nothing. Undefined where the text is no number. */
function digitsOf(text: string): string | undefined {
  const match = /^([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?$/.exec(text.replace(/^[\u2212]/, "-"));
  if (match === null) return undefined;
  const whole = match[2]!.replaceAll(",", "").replace(/^0+(?=\d)/, "");
  const fraction = (match[3] ?? "").replace(/0+$/, "");
  const number = fraction === "" ? whole : `${whole}.${fraction}`;
  return match[1] === "-" && number !== "0" ? `-${number}` : number;
}
