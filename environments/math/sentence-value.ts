/** Words that negate, withdraw or qualify a statement. */
const isUnsure =
  /\b(?:not?|never|neither|nor|except|unless|wrong|incorrect|false|maybe|perhaps|possibly|either|if|suppose|assume|between)\b|n't\b/i;
/** The start of a subordinate clause, which may contain its own value: `5 when x is 3`. */
const subordinator = /\b(?:if|when|because|since|while|where|which|as|so|for)\b|[\d$\\=,;:]/i;
const verb =
  /\b(?:is|are|was|were|be|equals?|becomes?|measures|comes\s+to|gives|have|has)\b(?:\s+(?:equal\s+to|exactly|simply|just|therefore|thus|also|given\s+by|written\s+as))*\s*:?\s+/gi;
const startsWithWords = /^[\s*_]*(?:[A-Za-z]{2,}\b|A\s|\$[^$]+\$\s+(?:is|are|equals)\b)/;
const longest = 400;

/**
 * Returns the value that a sentence states for its subject, such as `34` for "The sum of both is 34.". Returns
 * undefined if the sentence does not begin with a subject, states no value, or is a negation, a doubt or an assumption.
 */
export function sentenceValue(sentence: string): string | undefined {
  const text = sentence.replaceAll("**", "").trim();
  if (text.length > longest || !startsWithWords.test(text) || isUnsure.test(text)) return undefined;
  const verbs = Array.from(text.matchAll(verb), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  })).filter(({ start }) => !isInFormula(text, start));
  // In "The remainder when 100 is divided by 33 is 1", the first verb belongs to a clause.
  const isOfClause = verbs.length > 1 && /\b(?:when|that|which|who|where)\b/i.test(text.slice(0, verbs[0]!.start));
  let [said, ...later] = verbs.slice(isOfClause ? 1 : 0);
  if (said === undefined) return undefined;
  for (const next of later) {
    if (subordinator.test(text.slice(said.end, next.start))) break;
    said = next;
  }
  const value = text
    .slice(said.end)
    .replace(/[.!]+$/, "")
    .trim();
  return value === "" ? undefined : value;
}

function isInFormula(text: string, position: number): boolean {
  const before = text.slice(0, position);
  const open = (before.match(/\{/g) ?? []).length - (before.match(/\}/g) ?? []).length;
  return open > 0 || (before.match(/(?<!\\)\$(?!\d[\d,.]*(?:\s+[a-z]|[.,;]?\s|$))/gi) ?? []).length % 2 === 1;
}
