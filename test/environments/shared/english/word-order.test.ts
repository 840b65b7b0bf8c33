import { describe, expect, test } from "vitest";
import { isOrdered } from "../../../../environments/shared/english/word-order.ts";
import abstracts from "../../../../environments/writing/abstracts.json" with { type: "json" };
import posts from "../../../../environments/writing/posts.json" with { type: "json" };
import { createRandom } from "../../../../src/core/random/random.ts";

const sentences = [...posts, ...abstracts]
  .flatMap((text) => text.split(/(?<=[.!?])\s+/))
  .filter((sentence) => sentence.split(" ").length >= 8);

test("accepts more than 95 % of English sentences, and fewer than 10 % of the same words shuffled", () => {
  const random = createRandom(1);
  const shuffled = sentences.map((sentence) => {
    const words = sentence.replace(/[.,;:]/g, "").split(" ");
    return `${random.shuffle(words).join(" ")}.`;
  });
  const share = (texts: readonly string[]): number => texts.filter(isOrdered).length / texts.length;
  expect(sentences.length).toBeGreaterThan(120);
  expect(share(sentences)).toBeGreaterThan(0.95);
  expect(share(shuffled)).toBeLessThan(0.1);
});

describe("rejects", () => {
  test.each([
    ["no capital at the beginning", "the cat sleeps on the mat."],
    ["a word twice in a row", "The cat cat sleeps on the mat."],
    ["two articles", "The a cat sleeps on the mat."],
    ["a preposition before a verb", "The cat of is on the mat."],
    ["a wrong a", "She ate a apple on the mat."],
    ["a wrong an", "She ate an pear on the mat."],
    ["a last word that needs another", "The cat sleeps on the."],
    ["a heap of nouns", "Cats dogs houses rivers gardens winters lamps roads are here."],
    ["a capital within", "The cat And the dog sleep."],
    ["capitals everywhere", "The Cat Sleeps Near Red Lamps at Night."],
    ["one word again and again", "A cat saw cat, and cat saw cat."],
  ])("%s", (_, sentence) => {
    expect(isOrdered(sentence)).toBe(false);
  });
});

test.each([
  "The cat sleeps on the mat because of the rain.",
  "I told him that an hour is enough, and a user of one agreed.",
  "In 2019, 40 engineers of the World Bank met in New York.",
])("accepts %j", (sentence) => {
  expect(isOrdered(sentence)).toBe(true);
});
