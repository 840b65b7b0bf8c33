/**
 * The closed word classes of English, such as articles and prepositions. A word that is in none of them is an open
 * word: a noun, a verb, an adjective, a name or a number. A word of several classes is listed under its most frequent
 * one.
 */
const classes = {
  article: "whose a an the every my your its our their his no",
  demonstrative:
    "this that these those her each some any another either neither both all such few many most several enough other same own half",
  preposition:
    "of in on at by for with from to into about against between during through under over above below upon within without per beside besides near behind across along around among towards toward despite via onto off beyond throughout",
  subject: "i he she we they",
  object: "him them us me",
  pronoun:
    "it you who whom what which there here everyone someone nobody anybody everything something nothing one none",
  be: "am is are was were",
  have: "has had have",
  do: "does did do",
  modal: "can could may might must shall should will would cannot",
  nonfinite: "be been being",
  coordinator: "and or but nor",
  subordinator: "because since although though while whereas if when where whether unless so yet once",
  linker: "as after before until than",
  degree: "very quite rather too",
  adverb:
    "not also just even still often never always ever now then however therefore thus hence again almost already perhaps only instead soon later sometimes usually up down out away back more less least",
} as const;

type WordClass = keyof typeof classes;

/**
 * The classes that rarely follow each class within a clause. English has these pairs ten times less often than chance.
 */
const never: Readonly<Record<WordClass, readonly WordClass[]>> = {
  article: [
    "article",
    "subject",
    "object",
    "pronoun",
    "be",
    "have",
    "do",
    "modal",
    "nonfinite",
    "coordinator",
    "subordinator",
    "preposition",
  ],
  demonstrative: ["object", "nonfinite", "degree"],
  preposition: ["preposition", "be", "have", "modal", "subordinator", "coordinator", "do", "subject"],
  subject: ["article", "preposition", "subject", "object", "pronoun", "coordinator", "subordinator", "demonstrative"],
  object: ["object"],
  pronoun: ["article", "object"],
  be: ["object", "be", "have", "do", "modal", "coordinator", "subordinator"],
  have: ["object", "be", "have", "do", "modal", "coordinator"],
  do: ["preposition", "object", "be", "have", "do", "modal", "nonfinite", "coordinator", "subordinator", "degree"],
  modal: ["preposition", "object", "be", "modal", "coordinator", "subordinator"],
  nonfinite: ["subject", "object", "be", "have", "do", "modal", "nonfinite", "coordinator"],
  coordinator: ["object", "nonfinite", "coordinator", "do"],
  subordinator: ["preposition", "object", "be", "have", "do", "modal", "subordinator", "coordinator", "degree"],
  linker: ["be", "have", "do", "modal", "coordinator", "degree"],
  degree: [
    "article",
    "subject",
    "object",
    "pronoun",
    "be",
    "have",
    "do",
    "modal",
    "nonfinite",
    "coordinator",
    "subordinator",
    "degree",
  ],
  adverb: ["object"],
};

/** The classes that a sentence does not end with. */
const neverLast: ReadonlySet<WordClass> = new Set(["article", "subject", "coordinator", "degree"]);

const classOf: ReadonlyMap<string, WordClass> = new Map(
  (Object.keys(classes) as WordClass[]).flatMap((name) =>
    classes[name].split(" ").map((word) => [word, name] as const),
  ),
);

/** Common pairs of closed words whose classes rarely follow each other. */
const phrases: ReadonlySet<string> = new Set(["because of", "do so", "if so", "since then", "so that"]);

/**
 * The number of words from which a sentence may contain one break of the order, and the number of consecutive open
 * words that is too high.
 */
const [wordsForBreak, longestRun] = [12, 8];

const longestSentence = 45;

/** The maximum number of occurrences of an open word in one sentence. */
const mostRepeats = 3;

/**
 * Returns true if the words of a sentence are in a plausible English order, judged by its closed words. The conditions:
 *
 * - No class follows a class that it rarely follows, and no word follows itself.
 * - "a" and "an" match the next word.
 * - There are fewer than eight open words in a row.
 * - The last word does not require another word.
 *
 * A sentence of twelve or more words may break the order once. Pairs do not cross commas. The check does not consider
 * the meaning. Of open words it uses only their positions.
 */
export function isOrdered(sentence: string): boolean {
  const capitals = sentence.match(/(?<![\p{L}\p{N}'\u2019-])\p{Lu}/gu)?.length ?? 0;
  if (!/^[^\p{L}\p{N}]*[\p{Lu}\p{N}]/u.test(sentence)) return false;
  let [words, breaks] = [0, 0];
  const counts = new Map<string, number>();
  let end: WordClass | undefined;
  for (const clause of sentence.split(/[,;:()"\u2013\u2014]+/)) {
    let [previous, run]: [string, number] = ["", 0];
    for (const written of clause.match(/[\p{L}\p{N}]+(?:['\u2019.-][\p{L}\p{N}]+)*/gu) ?? []) {
      const word = written.toLowerCase();
      words++;
      end = classOf.get(word);
      run = end === undefined ? run + 1 : 0;
      const count = end === undefined ? (counts.get(word) ?? 0) + 1 : 0;
      if (count > mostRepeats) return false;
      counts.set(word, count);
      if (run >= longestRun) return false;
      const misplacedCapital = words > 1 && end !== undefined && word !== "i" && /^\p{Lu}/u.test(written);
      if (isBreak(previous, word) || misplacedCapital) breaks++;
      previous = word;
    }
  }
  if (end !== undefined && neverLast.has(end)) breaks++;
  return words <= longestSentence && breaks <= (words < wordsForBreak ? 0 : 1) && 3 * (capitals - 1) <= words;
}

function isBreak(previous: string, word: string): boolean {
  if (phrases.has(`${previous} ${word}`)) return false;
  if (previous === word) return true;
  if (previous === "a" && /^[aeio](?!u|ne)/.test(word)) return true;
  if (previous === "an" && !/^(?:[aeiouh8]|1[18])/.test(word)) return true;
  const [before, now] = [classOf.get(previous), classOf.get(word)];
  return before !== undefined && now !== undefined && never[before].includes(now);
}
