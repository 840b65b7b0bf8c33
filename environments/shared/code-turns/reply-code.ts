import type { Language } from "../../../sandbox/execution.ts";
import { extractCode } from "../../../src/core/parsers/extract-code.ts";

const languages: Readonly<Record<Language, readonly string[]>> = {
  python: ["python", "py", "python3"],
  javascript: ["javascript", "js"],
  typescript: ["typescript", "ts"],
};

/**
 * Returns the code of a reply: its last code block with the language or without a language, otherwise its last code
 * block, otherwise the whole reply. An unclosed block extends to the end.
 */
export function replyCode(text: string, language: Language): string {
  return extractCode(text, { languages: languages[language] }) ?? extractCode(text) ?? text;
}
