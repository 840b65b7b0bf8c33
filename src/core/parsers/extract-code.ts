/** A fenced code block. */
export interface CodeBlock {
  /** The first word after the opening fence, or an empty text. */
  readonly language: string;
  readonly code: string;
}

/**
 * Returns the blocks between lines that begin with three or more backticks or tildes. An unclosed block at the end is
 * included.
 */
export function codeBlocks(text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { fence: string; language: string; lines: string[] } | undefined;
  // The rules of CommonMark 0.31, section 4.5.
  for (const line of text.split(/\r?\n/)) {
    const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (open === undefined) {
      if (fence === null || (fence[1]!.startsWith("`") && fence[2]!.includes("`"))) continue;
      open = { fence: fence[1]!, language: fence[2]!.trim().split(/\s+/)[0]!, lines: [] };
    } else if (fence !== null && fence[2]!.trim() === "" && fence[1]!.startsWith(open.fence)) {
      blocks.push({ language: open.language, code: open.lines.join("\n") });
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open !== undefined) blocks.push({ language: open.language, code: open.lines.join("\n") });
  return blocks;
}

/**
 * Returns the code of the last fenced block of a text. With `languages`, returns the last block that is marked with one
 * of them or has no language. Undefined if there is no such block.
 */
export function extractCode(
  text: string,
  options: { readonly languages?: readonly string[] } = {},
): string | undefined {
  const { languages } = options;
  const isWanted = ({ language }: CodeBlock): boolean =>
    languages === undefined || language === "" || languages.includes(language.toLowerCase());
  return codeBlocks(text).findLast(isWanted)?.code;
}
