/** Words that say little by themselves; no content word is one of them. */
const stopwords: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any are as at be because been before being below between both but
  by can cannot could did do does doing down during each few for from further had has have having he her here hers herself
  him himself his how i if in into is it its itself just may me might more most must my myself no nor not now of off on
  once only or other our ours ourselves out over own per same she should so some such than that the their theirs them
  themselves then there these they this those through to too under until up upon us very via was we were what when where
  which while who whom whose why will with within without would you your yours yourself yourselves`.split(/\s+/),
);

/** The words of a text in lower case, punctuation left out; a number is a word, without thousands separators. */
export function wordsOf(text: string): readonly string[] {
  const words = text
    .replace(/(?<=\d),(?=\d{3}\b)/g, "")
    .toLowerCase()
    .replaceAll("\u2019", "'");
  return words.match(/\d+(?:\.\d+)?|\p{L}+(?:'\p{L}+)?/gu) ?? [];
}

/** The words of a text that are no stopwords. */
export function contentWords(text: string): readonly string[] {
  return wordsOf(text).filter((word) => !stopwords.has(word.replace(/'.*$/, "")));
}

/** A word without the endings of English inflection, so that forms of one word mostly agree; it need be no word. */
export function stem(word: string): string {
  if (word.length < 4 || /^\d/.test(word)) return word;
  const bare = word.replace(/'.*$/, "").replace(/(?:ies|ied)$/, "y");
  const cut = bare.replace(/(?:ing|edly|ed|es|s|ly)$/, "");
  return (cut.length < 3 ? bare : cut).replace(/e$/, "").replace(/([^aeiouls])\1$/, "$1");
}

/** The stems of a text's content words, each once. */
export function contentStems(text: string): ReadonlySet<string> {
  return new Set(contentWords(text).map(stem));
}

/** The sentences of a text: what ends in a full stop, a question or exclamation mark, or a line's end. */
export function sentencesOf(text: string): readonly string[] {
  return text
    .split(/(?<=[.!?]["')\u201d]?)\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsOf(sentence).length > 0);
}
