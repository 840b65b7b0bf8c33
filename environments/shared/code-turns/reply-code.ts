import type { Language } from "../../../sandbox/execution.ts";
import type { TestSuite } from "../../../sandbox/grading/test-suite.ts";
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
export function replyCode(text: string, request: CodeRequest): string {
  const { language, ...options } = request;
  return extractCode(text, { languages: languages[language], ...options }) ?? extractCode(text) ?? text;
}

interface CodeRequest {
  readonly language: Language;
  /** The names that the code should define. */
  readonly names: readonly string[];
  /** Code that runs with it, such as its tests. What it uses of other blocks is added. */
  readonly usedBy?: string;
  /** Set it if the names are methods of a class. */
  readonly methods?: boolean;
}

/** Returns the code of a suite's tests, for `usedBy`. Calls and runs of programs have none. */
export function testCode(suite: TestSuite): string {
  return suite.kind === "judge" ? [suite.setup ?? "", ...suite.tests.map(({ code }) => code)].join("\n") : "";
}
