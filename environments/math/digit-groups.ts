const thinSpace = String.raw`(?:\\[,;:]|\\thinspace\b\s?|[\u2009\u202F\u00A0\u2007'~]|\u2019|\{[,']\}|\{\s\})`;
const number = new RegExp(
  String.raw`(?<![\w.]|(?<!\\),)(\d{1,3})((?:(?:\{,\}|,)?${thinSpace}\d{3}|\{,\}\d{3})+)(?!\d|,\d)`,
  "g",
);
const fraction = new RegExp(String.raw`(?<=\d\.\d{3})(?:${thinSpace}\d{3})*${thinSpace}\d{1,3}(?!\d)`, "g");

/**
 * Joins groups of three digits, and replaces LaTeX's decimal comma with a point: `1\,234`, `1{,}234` and `1'234` become
 * `1234`, and `12{,}5` becomes `12.5`. Does not change blanks and bare commas, which may separate numbers.
 */
export function joinDigitGroups(text: string): string {
  return text
    .replace(/\\!/g, "")
    .replace(number, (_all, first: string, rest: string) => first + rest.replace(/\D/g, ""))
    .replace(fraction, (digits) => digits.replace(/\D/g, ""))
    .replace(/(?<=\d)\{,\}(?=\d)/g, ".");
}

const wholeNumber =
  /^([-+]?)(\d{1,3}(?: \d{3})+(?:[.,]\d+)?|[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}|0,\d+|[1-9]\d*,(?:\d{1,2}|\d{4,}))(?![\d.,])/;

/**
 * Converts a single number with blanks (`1 234`) or European separators (`1.234,5` and `3,5`) to English notation. Does
 * not change other texts, nor `1,234` and `1.234`, which are English. Use it only if the answer must be a single
 * number.
 */
export function englishNumber(text: string): string {
  return text.replace(wholeNumber, (_all, sign: string, digits: string) => {
    const joined = digits.replaceAll(" ", "");
    const decimal =
      /,\d+$/.test(joined) || !joined.includes(".") ? joined.replaceAll(".", "").replace(",", ".") : undefined;
    return sign + (decimal ?? (joined.split(".").length > 2 ? joined.replaceAll(".", "") : joined));
  });
}
