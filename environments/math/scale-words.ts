import { type Rational, rational } from "./rational.ts";

/** Words that multiply a number, by factor, in languages that write spaces between words. */
const words: readonly (readonly [factor: Rational, words: string])[] = [
  [rational(10n), "tens"],
  [
    rational(12n),
    "dozens?|dutzend|docenas?|douzaines?|dozzin[ae]|dúzias?|dozijn(?:en)?|dussin|dusin|tuzin(?:y|ów)?|tucet(?:y|ů)?|дюжин[аы]?|düzine|lusin|דוזן|תריסר|दर्जन|ডজন|دوجین|δωδεκάδ(?:α|ες)",
  ],
  [powerOfTen(2), "hundreds?"],
  [
    powerOfTen(3),
    "thousands?|tausend|tsd\\.?|mille|mil|duizend|tusen|tys\\.?|tysi[aą]ce|tysięcy|тыс\\.?|тысяч[аи]?|тисяч[аі]?|bin|nghìn|ngàn|ribu|ألف|آلاف|هزار|हज़ार|हजार|হাজার|אלף|χιλιάδες",
  ],
  [powerOfTen(5), "lakhs?|लाख|লাখ"],
  [
    powerOfTen(6),
    "millions?|million(?:en|er)|mill[oó]n(?:es)?|milh(?:ão|ões)|milion(?:e|i|y|ů|ów)?|miljoen|miljon(?:er)?|mio\\.?|mln\\.?|млн\\.?|миллион(?:а|ов)?|мільйон(?:а|и|ів)?|milyon|triệu|juta|مليون|ملايين|میلیون|מיליון|εκατομμύρια",
  ],
  [powerOfTen(7), "crores?|करोड़|কোটি"],
  [
    powerOfTen(9),
    "billions?|milliarde?n?|milliards?|miliard[iyů]?|miliardów|miljard(?:er)?|mrd\\.?|mld\\.?|млрд\\.?|миллиард(?:а|ов)?|мільярд(?:а|и|ів)?|milyar|tỷ|tỉ|miliar",
  ],
  [powerOfTen(12), "trillions?"],
  [powerOfTen(-1), "tenths?"],
  [powerOfTen(-2), "hundredths?"],
  [powerOfTen(-3), "thousandths?"],
  [powerOfTen(-6), "millionths?"],
];
/** Signs that multiply a number, in languages that do not. `千克` is a kilogram, and `百分` begins a percentage. */
const signs: readonly (readonly [factor: Rational, signs: string])[] = [
  [rational(12n), "打|ダース|다스|โหล"],
  [powerOfTen(2), "百(?!分)|백"],
  [powerOfTen(3), "千(?![克米瓦卡字赫帕])|천|พัน"],
  [powerOfTen(4), "[万萬]|만"],
  [powerOfTen(5), "แสน"],
  [powerOfTen(6), "ล้าน"],
  [powerOfTen(8), "[亿億]|억"],
  [powerOfTen(12), "兆"],
];

/** A word that multiplies the number before it. */
export interface Scale {
  readonly factor: Rational;
  /** True for a letter, as in `46k`, which may also be a variable. */
  readonly isLetter: boolean;
  /** The end of the word. */
  readonly end: number;
}

const scales: readonly (Omit<Scale, "end"> & { readonly word: RegExp })[] = [
  ...words.map(([factor, word]) => ({
    factor,
    isLetter: false,
    word: new RegExp(`(?:-|[ \\t]*)(?:${word})(?![\\p{L}\\p{M}])`, "iuy"),
  })),
  ...signs.map(([factor, sign]) => ({ factor, isLetter: false, word: new RegExp(`[ \\t]*(?:${sign})`, "uy") })),
  // A bare "46 gross" may be an income.
  { factor: rational(144n), isLetter: false, word: /[ \t]*gross(?=[ \t]+of[ \t])/iuy },
  // With a blank, `M` is a unit or a name, and `K` the kelvin. `m` is the metre.
  { factor: powerOfTen(6), isLetter: true, word: /M(?![\p{L}\p{M}\d^_(])/uy },
  { factor: powerOfTen(9), isLetter: true, word: /B(?![\p{L}\p{M}\d^_(])/uy },
  { factor: powerOfTen(3), isLetter: true, word: /k(?![\p{L}\p{M}\d^_(])/iuy },
];

/** Returns what a word after a number multiplies it by, such as 1,000,000 for "million" and 12 for "dozen". */
export function scaleAt(text: string, position: number): Scale | undefined {
  for (const { factor, isLetter, word } of scales) {
    word.lastIndex = position;
    const match = word.exec(text);
    if (match !== null) return { factor, isLetter, end: position + match[0].length };
  }
  return undefined;
}

const counts: Readonly<Record<string, string>> = {
  ...{
    "half a": "0.5",
    a: "1",
    one: "1",
    two: "2",
    three: "3",
    four: "4",
    five: "5",
    six: "6",
    seven: "7",
    eight: "8",
  },
  ...{ nine: "9", ten: "10", eleven: "11", twelve: "12", fifteen: "15", twenty: "20", thirty: "30", forty: "40" },
  ...{ fifty: "50", hundred: "100", "a hundred": "100" },
};
const countWords = Object.keys(counts).join("|");
const half = "(?:[ \\t]+and[ \\t]+a[ \\t]+half)?";
const counted = new RegExp(`(?<![\\p{L}-])(${countWords})(${half})(?=[ \\t-]+(?:dozen|gross[ \\t]+of)\\b)`, "giu");

/** Writes the number of dozens in digits if it is the only number of a text: "2 dozen" for "two dozen". */
export function withCountedDozens(text: string): string {
  const isOnly = !/\d/.test(text) && [...text.matchAll(counted)].length === 1;
  if (!isOnly) return text;
  return text.replace(counted, (_all, word: string, more: string) =>
    String(Number(counts[word.toLowerCase()]) + (more === "" ? 0 : 0.5)),
  );
}

const askedScale =
  /\b(?:how (?:many|much)(?: more| fewer)?|in|nearest) (dozen|gross|hundred|thousand|million|billion|trillion)s?\b/i;

/**
 * Returns a text without the scale word that a question requests its answer in. "How many dozen does she need?" is
 * answered by both `8` and "8 dozen".
 */
export function inAskedScale(text: string, question: string): string {
  const asked = askedScale.exec(question)?.[1]?.toLowerCase();
  if (asked === undefined) return text;
  const letter = { thousand: "|k", million: "|M", billion: "|B" }[asked] ?? "";
  const number = `(?:\\d[*_$]{0,3}|\\b(?:${countWords})${half})`;
  return text.replace(new RegExp(`(?<=${number})(?:(?:-|[ \\t]{0,3})${asked}s?${letter})\\b`, "gi"), "");
}

function powerOfTen(exponent: number): Rational {
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? rational(1n, power) : rational(power);
}
