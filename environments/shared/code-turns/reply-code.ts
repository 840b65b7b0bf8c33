import type { Language } from "../../../sandbox/execution.ts";
import { extractCode } from "../../../src/core/parsers/extract-code.ts";

const languages: Readonly<Record<Language, readonly string[]>> = {
  python: ["python", "py"],
  javascript: ["javascript", "js", "jsx", "mjs", "cjs", "node"],
  typescript: ["typescript", "ts", "tsx"],
};

/**
 * Returns the code of a reply that should define `names`: the blocks that define them, with the imports and helpers that
 * they use. If nothing defines a name, this is the last code block of the language or without a language, otherwise the
 * last code block, otherwise the whole reply. An unclosed block extends to the end.
 */
export function replyCode(text: string, { language, names }: { language: Language; names: readonly string[] }): string {
  return extractCode(text, { languages: languages[language], names }) ?? extractCode(text) ?? text;
}
