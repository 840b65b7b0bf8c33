/**
 * Returns true if two answers are equal: equal numbers, compared digit by digit, or equal text. Ignores case, spaces
 * and a final full stop. A part of an answer does not count as the answer.
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

/**
 * Returns a decimal number in canonical form, without separators and redundant zeros, or undefined if the text is not a
 * number.
 */
function digitsOf(text: string): string | undefined {
  const match = /^([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?$/.exec(text.replace(/^[\u2212]/, "-"));
  if (match === null) return undefined;
  const whole = match[2]!.replaceAll(",", "").replace(/^0+(?=\d)/, "");
  const fraction = (match[3] ?? "").replace(/0+$/, "");
  const number = fraction === "" ? whole : `${whole}.${fraction}`;
  return match[1] === "-" && number !== "0" ? `-${number}` : number;
}
