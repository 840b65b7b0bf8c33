import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { repository } from "../examples/run-program.ts";

/** A fenced block of a document. */
export interface CodeBlock {
  /** The document, relative to the repository. */
  readonly document: string;
  /** The text of the heading above it, of any level. */
  readonly heading: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The file name in its first line: `// name.ts` or `# name.yaml`. */
  readonly file: string | undefined;
  /** Why no test runs it: the comment `<!-- not run: REASON -->` in the line above. */
  readonly notRun: string | undefined;
}

/** The documents whose blocks are run. The READMEs of environments have their own tests. */
export const documents: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "ARCHITECTURE.md",
  ...globSync(join(repository, "docs/*.md"))
    .map((path) => relative(repository, path))
    .toSorted(),
];

/** Returns the blocks of a document, in order. A fence without a language is an error. */
export async function codeBlocks(document: string): Promise<CodeBlock[]> {
  const text = await readFile(join(repository, document), "utf8");
  return [...text.matchAll(/^```(\S*)[^\n]*\n([\s\S]*?)^```$/gm)].map(({ index, 1: language = "", 2: code = "" }) => {
    const before = text.slice(0, index);
    const line = before.split("\n").length;
    // A comment in an earlier block is not a heading.
    const prose = before.replaceAll(/^```[\s\S]*?^```$/gm, "").split("\n");
    const heading = prose.findLast((row) => /^#+ /.test(row))?.replace(/^#+ /, "") ?? "";
    if (language === "") throw new Error(`${document}:${line}: a code block without a language`);
    const file = /^(?:\/\/|#) (\S+\.(?:ts|yaml))\n/.exec(code)?.[1];
    const notRun = /<!-- not run: (.+) -->\n$/.exec(before)?.[1];
    return { document, heading, line, language, code, file, notRun };
  });
}

/** Returns the blocks of one language in all documents. */
export async function blocksOf(language: string): Promise<CodeBlock[]> {
  const blocks = await Promise.all(documents.map(codeBlocks));
  return blocks.flat().filter((block) => block.language === language);
}
