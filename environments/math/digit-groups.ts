const thinSpace = String.raw`(?:\\[,;:]|\\thinspace\b\s?|[\u2009\u202F\u00A0\u2007'~]|\u2019|\{[,']\}|\{\s\})`;
const number = new RegExp(
  String.raw`(?<![\w.]|(?<!\\),)(\d{1,3})((?:(?:\{,\}|,)?${thinSpace}\d{3}|\{,\}\d{3})+)(?!\d|,\d)`,
  "g",
);
const fraction = new RegExp(String.raw`(?<=\d\.\d{3})(?:${thinSpace}\d{3})*${thinSpace}\d{1,3}(?!\d)`, "g");

/**
 * Text whose groups of three digits stand together, and with a point for LaTeX's decimal comma: `1\,234`, `1{,}234` and
 * `1'234` become `1234`, and `12{,}5` becomes `12.5`. Leaves blanks and bare commas alone, which may separate numbers.
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
 * A text that is one number with blanks (`1 234`) or European separators (`1.234,5` and `3,5`), in English notation.
 * Other texts stay, and `1,234` and `1.234`, which are English. Only for answers to what has one number for an answer.
 */
export function englishNumber(text: string): string {
  return text.replace(wholeNumber, (_all, sign: string, digits: string) => {
    const joined = digits.replaceAll(" ", "");
    const decimal =
      /,\d+$/.test(joined) || !joined.includes(".") ? joined.replaceAll(".", "").replace(",", ".") : undefined;
    return sign + (decimal ?? (joined.split(".").length > 2 ? joined.replaceAll(".", "") : joined));
  });
}
