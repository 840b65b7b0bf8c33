import type { Language } from "../../../sandbox/execution.ts";
import { extractCode } from "../../../src/core/parsers/extract-code.ts";

const languages: Readonly<Record<Language, readonly string[]>> = {
  python: ["python", "py", "python3"],
  javascript: ["javascript", "js"],
  typescript: ["typescript", "ts"],
};

/**
 * The code of a reply: its last code block that is marked with the language or with none, else its last one, else, if it
 * has no code block at all, the whole reply. A block that is cut off counts to the end.
 */
export function replyCode(text: string, language: Language): string {
  return extractCode(text, { languages: languages[language] }) ?? extractCode(text) ?? text;
}
