/*
 * Reverse a text letter by letter, as in the recipe of prime-rl. Configs refer to it by its path:
 *
 *   environment: { id: ../environments/reverse-text.ts }
 *
 * The texts are generated: a few words of a list. The reward is the similarity of the answer and the reversed text,
 * 2 x the length of their longest common subsequence / the sum of their lengths.
 */
import { createRandom, defineEnvironment } from "lyceum";

const words = (
  "the river stone cloud tiger piano lemon grass of and under over quiet green small old house walks sings moves when " +
  "light falls on every open window near a market where people buy bread apples paper clocks before winter"
).split(" ");

/** Returns the texts of a split. Each has five to twelve words, so that no two are equal. */
function texts(split: string): readonly string[] {
  const random = createRandom(split === "test" ? 1 : 2);
  return Array.from({ length: split === "test" ? 100 : 2000 }, () =>
    Array.from({ length: random.integer(5, 12) }, () => random.pick(words)).join(" "),
  );
}

const reversed = (text: string): string => [...text].reverse().join("");

/** Returns 2 x the longest common subsequence / the sum of the lengths: 1 for equal texts. */
function similarity(one: string, other: string): number {
  if (one.length + other.length === 0) return 1;
  let before = new Uint16Array(other.length + 1);
  for (const letter of one) {
    const row = new Uint16Array(other.length + 1);
    for (let i = 1; i < row.length; i++) {
      row[i] = letter === other[i - 1] ? before[i - 1]! + 1 : Math.max(before[i]!, row[i - 1]!);
    }
    before = row;
  }
  return (2 * before.at(-1)!) / (one.length + other.length);
}

export default defineEnvironment<string>({
  id: "reverse-text",
  description: "Reverse a text letter by letter.",
  splits: ["train", "test"],
  tasks: texts,
  rewardRange: [0, 1],
  reset: ({ task }) =>
    `Reverse the text letter by letter. Put your answer in <reversed_text> tags.\n\n<text>\n${task}\n</text>`,
  step: ({ task, text }) => {
    const answer = /<reversed_text>([^<]*)<\/reversed_text>/.exec(text)?.[1]?.trim();
    // A longer answer than twice the text is no attempt, and would take long to compare.
    if (answer === undefined || answer.length > 2 * task.length) return { reward: 0 };
    return { reward: similarity(answer, reversed(task)) };
  },
  demonstrate: (text) => `<reversed_text>\n${reversed(text)}\n</reversed_text>`,
});
