import type { Prompts } from "../../src/core/environment/define-parallel-environment.ts";

/** The two writers of an episode. */
export type Writer = "first" | "second";

/** Returns the prompt of each writer. Neither sees the other's text. */
export function writingPrompts(form: "tldr" | "arxiv", source: string): Prompts<Writer> {
  const rule = "Say only what the text says, in your own words, and answer with nothing but your own part.";
  if (form === "tldr") {
    const text = `Here is a post:\n\n${source}\n\n`;
    return {
      first: `${text}Summarise it in one or two sentences. Another writer gives a longer summary. ${rule}`,
      second:
        `${text}Summarise it in some detail, about two or three times as long as a summary of one or two sentences, which ` +
        `another writer gives. Lead from one thought to the next with words such as "however" or "therefore". ${rule}`,
    };
  }
  const text = `Here is the abstract of a paper:\n\n${source}\n\nTwo writers turn it into an introduction. `;
  const length = "Write one paragraph of 130 to 250 words, with words that lead from one thought to the next.";
  return {
    first: `${text}You write the first part: the background and why the work was done. The other writes the rest. ${length} ${rule}`,
    second:
      `${text}You write the second part: the method and what the results mean, a little longer than the first part, which ` +
      `the other writes. ${length} ${rule}`,
  };
}
