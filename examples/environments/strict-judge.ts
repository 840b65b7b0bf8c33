// A small judge without a model, so that judged-answers.ts runs without a key: an answer is right if it contains most of
// the long words of the reference. A real judge is a name instead of this file, such as --judge openai:gpt-5-mini.
import { scriptedPolicy, textOf } from "lyceum";
import { definePolicy } from "lyceum/policies";
import { z } from "zod";

const quotedText = (prompt: string, name: string): string =>
  new RegExp(`<(${name}-[0-9a-f]+)>\n([^]*?)\n</\\1>`).exec(prompt)?.[2] ?? "";
const longWords = (text: string): string[] => text.toLowerCase().match(/[a-z]{4,}/g) ?? [];

export const policy = definePolicy({
  id: "strict-judge",
  description: "Compares the words of an answer with those of the reference.",
  options: z.object({}),
  open: () =>
    scriptedPolicy(({ messages }) => {
      const prompt = textOf(messages[0]!);
      const said = new Set(longWords(quotedText(prompt, "text")));
      const expected = longWords(quotedText(prompt, "reference"));
      const found = expected.filter((word) => said.has(word)).length;
      return `It has ${found} of ${expected.length} words.\nVerdict: ${2 * found > expected.length ? "yes" : "no"}`;
    }),
});
