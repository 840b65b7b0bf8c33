const functionWords = new Set(
  `a about above after again against all almost also although always am among an and another any are around as at away
  be because been before being below between both but by can could did do does doing down during each either even ever
  every few for from had has have having he her here hers him his how however i if in into is it its itself just least
  less many may me might mine more most much must my nearly neither never no nor not now of off often on once one only
  or other our out over own per quite rather same shall she should since so some still such than that the their them
  then there therefore these they this those though through thus to too under until up upon us very was we were what
  when where whereas whether which while who whom whose why will with within without would yet you your hence`
    .split(/\s+/)
    .filter((word) => word !== ""),
);

/** Returns the words of a text in lower case, without punctuation. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? []
  );
}

/** Returns true for a function word, such as an article, a pronoun or a conjunction. */
export function isFunctionWord(word: string): boolean {
  return functionWords.has(word);
}

/**
 * Returns the stems of a text's subject words, which are all words except function words. Common English endings are
 * removed, so that "taxes" and "taxed" have the same stem.
 */
export function stemsOf(words: readonly string[]): ReadonlySet<string> {
  return new Set(words.filter((word) => !isFunctionWord(word)).map(stem));
}

/** Returns the length of the longest common subsequence of two lists. */
export function sharedInOrder(first: readonly string[], second: readonly string[]): number {
  let row = second.map(() => 0);
  for (const item of first) {
    const above = row;
    row = [];
    for (const [at, other] of second.entries()) {
      const diagonal = at === 0 ? 0 : above[at - 1]!;
      row.push(item === other ? diagonal + 1 : Math.max(above[at]!, at === 0 ? 0 : row[at - 1]!));
    }
  }
  return row.at(-1) ?? 0;
}

function stem(word: string): string {
  const bare = word.replace(/['’]s$/, "");
  const cut = bare.replace(/(?:ies|ied)$/, "y").replace(/(?:ings?|edly|ed|es|s|ly)$/, "");
  return cut.length < 3 ? bare : cut.replace(/e$/, "").replace(/(.)\1$/, "$1");
}

/** Returns the size of the intersection of two sets. */
export function shared(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  let count = 0;
  for (const item of first) if (second.has(item)) count++;
  return count;
}

/** Returns the items of the first set that are not in the second. */
export function without(first: ReadonlySet<string>, second: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...first].filter((item) => !second.has(item)));
}
