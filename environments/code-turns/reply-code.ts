import type { Language } from "../../sandbox/execution.ts";

const tags: Readonly<Record<Language, readonly string[]>> = {
  python: ["", "python", "py", "python3"],
  javascript: ["", "javascript", "js"],
  typescript: ["", "typescript", "ts"],
};

/**
 * The code of a reply: its last code block that is marked with the language or with none, else, where it has no code
 * block at all, the whole reply. A block that is cut off counts to the end.
 */
export function replyCode(text: string, language: Language): string {
  const blocks = codeBlocks(text);
  const wanted = blocks.filter(({ tag }) => tags[language].includes(tag.toLowerCase()));
  const block = wanted.at(-1) ?? blocks.at(-1);
  return block === undefined ? text : block.code;
}

/** Code blocks between lines that begin with three or more backticks or tildes (CommonMark 0.31, section 4.5). */
function codeBlocks(text: string): readonly { readonly tag: string; readonly code: string }[] {
  const blocks: { tag: string; code: string }[] = [];
  let open: { fence: string; tag: string; lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (open === undefined) {
      if (fence === null || (fence[1]!.startsWith("`") && fence[2]!.includes("`"))) continue;
      open = { fence: fence[1]!, tag: fence[2]!.trim().split(/\s+/)[0]!, lines: [] };
    } else if (fence !== null && fence[2]!.trim() === "" && fence[1]!.startsWith(open.fence)) {
      blocks.push({ tag: open.tag, code: open.lines.join("\n") });
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open !== undefined) blocks.push({ tag: open.tag, code: open.lines.join("\n") });
  return blocks;
}
