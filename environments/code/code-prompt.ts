import type { Language } from "../../sandbox/execution.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { visibleTests } from "./code-feedback.ts";

const names: Readonly<Record<Language, string>> = {
  python: "Python",
  javascript: "JavaScript",
  typescript: "TypeScript",
};

/** The first prompt: what is to be written, and how to answer. A problem in words comes with its visible tests. */
export function codePrompt({ prompt, entryPoint, suite }: CodeProblem): string {
  const { language } = suite;
  const isSource = prompt.includes(`${entryPoint}(`);
  const task = isSource
    ? `Complete the ${names[language]} function \`${entryPoint}\`:\n\n${fenced(language, prompt)}`
    : `${prompt.trim()}\n\nWrite it in ${names[language]}, as the function \`${entryPoint}\`.${examples(suite)}`;
  return `${task}\n\nAnswer with one code block that holds the whole function, and its imports and helpers.`;
}

/** A code block. */
export function fenced(language: Language, code: string): string {
  return `\`\`\`${language}\n${code.trimEnd()}\n\`\`\``;
}

function examples(suite: CodeProblem["suite"]): string {
  const lines = visibleTests(suite).map(({ text }) => text);
  return lines.length === 0 ? "" : ` For example:\n\n${fenced(suite.language, lines.join("\n"))}`;
}
