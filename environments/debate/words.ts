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

/** The words of a text in lower case; punctuation is none. */
export function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? []
  );
}

/** True for a word that holds sentences together (articles, pronouns, conjunctions, ...) and has no subject. */
export function isFunctionWord(word: string): boolean {
  return functionWords.has(word);
}

/** The different words of a text that have a subject, without common English endings: "taxes" and "taxed" are one. */
export function stemsOf(words: readonly string[]): ReadonlySet<string> {
  return new Set(words.filter((word) => !isFunctionWord(word)).map(stem));
}

/** The length of the longest sequence of members that both lists have in the same order. */
export function sharedInOrder(first: readonly string[], second: readonly string[]): number {
  let row = second.map(() => 0);
  for (const member of first) {
    const above = row;
    row = [];
    for (const [at, other] of second.entries()) {
      const diagonal = at === 0 ? 0 : above[at - 1]!;
      row.push(member === other ? diagonal + 1 : Math.max(above[at]!, at === 0 ? 0 : row[at - 1]!));
    }
  }
  return row.at(-1) ?? 0;
}

function stem(word: string): string {
  const bare = word.replace(/['’]s$/, "");
  const cut = bare.replace(/(?:ies|ied)$/, "y").replace(/(?:ings?|edly|ed|es|s|ly)$/, "");
  return cut.length < 3 ? bare : cut.replace(/e$/, "").replace(/(.)\1$/, "$1");
}

/** How many members two sets share. */
export function shared(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  let count = 0;
  for (const member of first) if (second.has(member)) count++;
  return count;
}

/** The members of the first set that the second does not have. */
export function without(first: ReadonlySet<string>, second: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...first].filter((member) => !second.has(member)));
}
