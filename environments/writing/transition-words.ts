import { wordsOf } from "./text-words.ts";

/** Transition words and phrases by kind. */
const transitions: Readonly<Record<string, readonly string[]>> = {
  addition: ["also", "furthermore", "moreover", "additionally", "besides", "in addition"],
  contrast: ["but", "however", "although", "though", "yet", "nevertheless", "whereas", "on the other hand"],
  cause: ["because", "since", "due to", "owing to"],
  result: ["so", "therefore", "thus", "hence", "consequently", "as a result"],
  comparison: ["similarly", "likewise", "in the same way"],
  example: ["for example", "for instance", "such as", "in particular"],
  sequence: ["first", "second", "third", "then", "next", "finally"],
  time: ["meanwhile", "afterwards", "later", "previously", "eventually", "while"],
  condition: ["if", "unless", "otherwise", "provided that"],
  emphasis: ["indeed", "in fact", "especially", "notably", "above all"],
  restatement: ["in other words", "that is", "namely"],
  conclusion: ["in conclusion", "in summary", "overall", "to sum up", "in short"],
};

/** Returns how many of the twelve kinds of transition words a text contains, as whole words. */
export function countTransitionKinds(text: string): number {
  const words = ` ${wordsOf(text).join(" ")} `;
  return Object.values(transitions).filter((phrases) => phrases.some((phrase) => words.includes(` ${phrase} `))).length;
}
