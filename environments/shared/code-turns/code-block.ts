import type { Language } from "../../../sandbox/execution.ts";

/** The names of languages in prompts. */
export const languageNames: Readonly<Record<Language, string>> = {
  python: "Python",
  javascript: "JavaScript",
  typescript: "TypeScript",
};

/** Returns a code block. Its fence is longer than any fence in the code. */
export function fenced(language: Language, code: string): string {
  let fence = "```";
  while (code.includes(fence)) fence += "`";
  return `${fence}${language}\n${code.trimEnd()}\n${fence}`;
}
