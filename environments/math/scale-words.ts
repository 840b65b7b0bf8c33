/** Words that multiply a number, by power of ten, in languages that write spaces between words. */
const words: Readonly<Record<number, string>> = {
  2: "hundred",
  3: "thousand|tausend|mille|mil|duizend|tusen|tys|tysi[aą]ce|tysięcy|тыс|тысяч[аи]?|тисяч[аі]?|bin|nghìn|ngàn|ribu|ألف|آلاف|هزار|हज़ार|हजार|হাজার|אלף|χιλιάδες",
  5: "lakh|लाख|লাখ",
  6: "millions?|million(?:en|er)|mill[oó]n(?:es)?|milh(?:ão|ões)|milion(?:e|i|y|ů|ów)?|miljoen|miljon(?:er)?|млн|миллион(?:а|ов)?|мільйон(?:а|и|ів)?|milyon|triệu|juta|مليون|ملايين|میلیون|מיליון|εκατομμύρια",
  7: "crore|करोड़|কোটি",
  9: "billion|milliarde?n?|milliards?|miliard[iyů]?|miliardów|miljard(?:er)?|млрд|миллиард(?:а|ов)?|мільярд(?:а|и|ів)?|milyar|tỷ|tỉ|miliar",
  12: "trillion",
};
/** Signs that multiply a number, in languages that do not. `千克` is a kilogram, and `百分` begins a percentage. */
const signs: Readonly<Record<number, string>> = {
  2: "百(?!分)|백",
  3: "千(?![克米瓦卡字赫帕])|천|พัน",
  4: "[万萬]|만",
  5: "แสน",
  6: "ล้าน",
  8: "[亿億]|억",
  12: "兆",
};

const scales: readonly { readonly power: number; readonly word: RegExp }[] = [
  ...Object.entries(words).map(([power, word]) => ({
    power: Number(power),
    word: new RegExp(`[ \\t]*(?:${word})(?![\\p{L}\\p{M}])`, "iuy"),
  })),
  ...Object.entries(signs).map(([power, sign]) => ({
    power: Number(power),
    word: new RegExp(`[ \\t]*(?:${sign})`, "uy"),
  })),
];

/** Returns the power of ten that a word after a number stands for, such as 6 for "million", and the end of the word. */
export function scaleAt(text: string, position: number): { readonly power: number; readonly end: number } | undefined {
  for (const { power, word } of scales) {
    word.lastIndex = position;
    const match = word.exec(text);
    if (match !== null) return { power, end: position + match[0].length };
  }
  return undefined;
}
