/** Words without content. */
const stopwords: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any are as at be because been before being below between both but
  by can cannot could did do does doing down during each few for from further had has have having he her here hers herself
  him himself his how i if in into is it its itself just may me might more most must my myself no nor not now of off on
  once only or other our ours ourselves out over own per same she should so some such than that the their theirs them
  themselves then there these they this those through to too under until up upon us very via was we were what when where
  which while who whom whose why will with within without would you your yours yourself yourselves`.split(/\s+/),
);

/** Returns the words of a text in lower case, without punctuation. A number is a word, without thousands separators. */
export function wordsOf(text: string): readonly string[] {
  const words = text
    .replace(/(?<=\d),(?=\d{3}\b)/g, "")
    .toLowerCase()
    .replaceAll("\u2019", "'");
  return words.match(/\d+(?:\.\d+)?|\p{L}+(?:'\p{L}+)?/gu) ?? [];
}

/** Returns the words of a text that are not stopwords. */
export function contentWords(text: string): readonly string[] {
  return wordsOf(text).filter((word) => !stopwords.has(word.replace(/'.*$/, "")));
}

/** Returns a word without English inflection, so that most forms of a word agree. The result may not be a word. */
export function stem(word: string): string {
  if (word.length < 4 || /^\d/.test(word)) return word;
  const bare = word.replace(/'.*$/, "").replace(/(?:ies|ied)$/, "y");
  const cut = bare.replace(/(?:ing|edly|ed|es|s|ly)$/, "");
  return (cut.length < 3 ? bare : cut).replace(/e$/, "").replace(/([^aeiouls])\1$/, "$1");
}

/** Returns the distinct stems of a text's content words. */
export function contentStems(text: string): ReadonlySet<string> {
  return new Set(contentWords(text).map(stem));
}

/**
 * Returns the sentences of a text. A sentence ends at a full stop, a question mark, an exclamation mark or the end of a
 * line.
 */
export function sentencesOf(text: string): readonly string[] {
  return text
    .split(/(?<=[.!?]["')\u201d]?)\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsOf(sentence).length > 0);
}
