/** Words that begin a reason, in languages with spaces between words. */
const reasonWords =
  "because|since|given that|considering(?: that)?|due to|as(?= (?:we|there|the|each|\\$?[\\d\\\\(]))|which (?:follows|comes|results)|porque|ya que|puesto que|pues|parce que|puisque|(?<=,\\s{0,3})car|weil|denn|perché|poiché|pois|omdat|(?<=,\\s*)want|ponieważ|gdyż|так как|потому что|поскольку|ведь|тому що|оскільки|çünkü|لأن|क्योंकि|bởi vì|vì|karena|sebab|eftersom|därför att|protože|neboť|επειδή|γιατί|διότι|כי|چون|زیرا|কারণ|왜냐하면";
const reasonSigns = "因为|因為|由于|由於|なぜなら|เพราะ";
const reason = new RegExp(
  `(?<![\\s,;(–—-])[\\s,;(–—-]*(?:(?<![\\p{L}\\p{M}])(?:${reasonWords})(?![\\p{L}\\p{M}])|${reasonSigns})`,
  "iu",
);
const leadingReason = new RegExp(
  `^\\s*(?:${reasonWords}|${reasonSigns}|as|if)(?![\\p{L}\\p{M}])[^\\n]*?,\\s+(?=\\p{L}[^=]*\\d)`,
  "iu",
);

/**
 * Returns a statement without the reason that follows or precedes its value: `18` for "18, since 9 * 2 = 18", and "she
 * has 5" for "Because 2 + 3 = 5, she has 5".
 */
export function withoutReason(statement: string): string {
  const text = statement.replace(leadingReason, "");
  const match = reason.exec(text);
  if (match === null) return text;
  const value = text.slice(0, match.index);
  // In "He needs one because 3 - 2 = 1", the number is in the reason.
  const hasValue = /[\d$\\]/.test(value) || (/\p{L}/u.test(value) && !/\d/.test(text.slice(match.index)));
  return hasValue ? value : text;
}

/** Words and signs that join alternatives or items: "5 or 6", `5, 6`. */
const conjunctions =
  "or|and|to|o|u|y|e|ou|et|oder|und|of|en|lub|albo|i|oraz|или|и|або|чи|та|veya|ve|ya da|أو|و|या|और|hoặc|và|atau|dan|eller|och|nebo|či|a|ή|και|או|יא|یا|বা|এবং|또는|혹은|그리고";
const joiningSigns = "或者?|和|还是|與|与|または|あるいは|もしくは|と|か|หรือ|และ|이나|나|과|와";
/** Words that join alternatives, wherever they are between two numbers. */
const alternatives = "or|and|oder|ou|или|або|veya|atau|hoặc|eller|nebo|lub|或|또는|または";
const hedges =
  "maybe|perhaps|possibly|probably|could|might|alternatively|otherwise|either|quizás?|tal vez|peut-être|vielleicht|forse|talvez|misschien|może|возможно|может|можливо|belki|ربما|शायद|có thể|mungkin|kanske|možná|ίσως|אולי|شاید";
const joined = new RegExp(
  `^[\\s$€£¥)]*(?:[,;/|~-]?|[,;]?\\s*(?:(?<![\\p{L}\\p{M}])(?:${conjunctions})(?![\\p{L}\\p{M}])|(?:${joiningSigns}))[,\\s]*)[\\s$€£¥(]*$`,
  "iu",
);
const hedged = new RegExp(`[,;.(–—]\\s*(?:\\p{L}+\\s+){0,3}(?:(?:${hedges})(?![\\p{L}\\p{M}])|也许|可能|かも)`, "iu");
const alternative = new RegExp(
  `(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{M}])(?:${alternatives})(?![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{M}])`,
  "iu",
);

/**
 * Returns true if the text between two numbers makes them items of a list, or alternatives directly next to each other.
 */
export function joinsNumbers(between: string): boolean {
  return joined.test(between);
}

/** Returns true if the text between two numbers doubts the first or offers the second. */
export function offersAnother(between: string): boolean {
  return alternative.test(between) || hedged.test(between);
}

/** Words before a number that deny it: "not 5", "а не 5". */
const denialBefore =
  /(?:(?<![\p{L}\p{M}])(?:not|never|neither|nor|cannot be|except|unless|rather than|instead of|no(?! more| less| fewer)|non|nicht|kein\p{L}*|niet|geen|nie|не|ні|không phải(?: là)?|không|bukan(?:lah)?|inte|ikke|není|ne|ليس(?:ت)?|لا|δεν είναι|δεν|όχι|לא|não|pas|statt)|n't|\bn'est pas|不是|不等于|并非|而非|不|ไม่ใช่)(?:\s+(?:equal to|equals|be|is|exactly|just|the|es|est|ist|равен|равно|είναι|de|à|a|u))*[\s$€£¥(*"']*$/iu;
/** Words after a number that deny it: "5 is not", "5ではない". */
const denialAfter =
  /^(?:\s*(?:is|are|was|were)(?:\s+not\b|n't|\s+(?:wrong|incorrect|false))|[^\d,;.]{0,8}?(?:では\s*(?:な|あり)|じゃな|でな|아니|değil|नहीं|نیست|না(?!\p{L})))/iu;

/** Returns true if a number is denied by the words before or after it. */
export function isDenied(before: string, after: string): boolean {
  return denialBefore.test(before.slice(-60)) || denialAfter.test(after.slice(0, 60));
}
