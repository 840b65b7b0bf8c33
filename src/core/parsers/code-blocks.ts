/** A fenced code block. */
export interface CodeBlock {
  /** The language after the opening fence without its version, in lowercase: `python` for `Python3.11`. May be empty. */
  readonly language: string;
  readonly code: string;
}

/**
 * Returns the fenced blocks of a text: those of CommonMark 0.31 (section 4.5), and what models write in addition. A
 * fence may have any indentation, which its lines lose. It may open and close at the end of a line, and words may follow
 * the closing fence. A block that is not closed extends to the end. Use it to read the code of a reply yourself;
 * `extractCode` chooses a block.
 */
export function codeBlocks(text: string): readonly CodeBlock[] {
  return readFences(text).blocks;
}

/** Returns the blocks of a text, and the texts between them. */
export function readFences(text: string): {
  readonly blocks: readonly CodeBlock[];
  readonly between: readonly string[];
} {
  const blocks: CodeBlock[] = [];
  const between: string[] = [];
  let open: (Fence & { readonly lines: string[]; quote: string }) | undefined;
  let outside: string[] = [];
  for (const written of text.split(/\r?\n/)) {
    let line = written;
    if (open !== undefined && open.quote !== "") {
      const marks = quoteOf(written, open.quote.endsWith(" "));
      if (marks !== "") line = written.slice(marks.length);
      // A reply may quote the fence alone.
      else if (open.lines.length === 0) open.quote = "";
      else if (lastCode(written, open) === undefined) {
        // A quoted block ends with its quotation.
        blocks.push(block(open));
        open = undefined;
      }
    }
    if (open === undefined) {
      const fence = openingFence(line);
      if (fence === undefined) {
        outside.push(line);
        continue;
      }
      between.push([...outside, fence.before].join("\n"));
      outside = [];
      open = { ...fence, lines: [] };
      continue;
    }
    const end = lastCode(line, open);
    if (end !== "") open.lines.push(end ?? line);
    if (end === undefined) continue;
    blocks.push(block(open));
    open = undefined;
  }
  if (open !== undefined) blocks.push(block(open));
  between.push(outside.join("\n"));
  return { blocks, between };
}

interface Fence {
  /** The text of the line before the fence. */
  readonly before: string;
  readonly marks: string;
  readonly indent: number;
  /** The marks `>` of a quotation before the fence. */
  readonly quote: string;
  readonly language: string;
}

/** Returns the marks of a quotation at the start of a line, with the blank after them if they have one. */
function quoteOf(line: string, hasBlank = true): string {
  const marks = /^(?:[ \t]{0,3}>)+ ?/.exec(line)?.[0] ?? "";
  return hasBlank ? marks : marks.trimEnd();
}

function openingFence(written: string): Fence | undefined {
  const quote = quoteOf(written);
  const line = written.slice(quote.length);
  const own = /^([ \t]*)(`{3,}|~{3,})(.*)$/.exec(line);
  if (own !== null) {
    const [, blanks, marks, info] = own;
    if (marks!.startsWith("`") && info!.includes("`")) return undefined;
    return { before: "", marks: marks!, indent: blanks!.length, quote, language: languageOf(info!) };
  }
  const at = line.indexOf("```");
  const late = at === -1 ? null : /^(`{3,})([\w+#.-]*)\s*$/.exec(line.slice(at));
  if (late === null) return undefined;
  return { before: line.slice(0, at), marks: late[1]!, indent: 0, quote, language: languageOf(late[2]!) };
}

/**
 * Returns the last code of a block on a line that closes it, or undefined. A fence that is indented further than the
 * opening one, as in a docstring, is content.
 */
function lastCode(line: string, { marks, indent }: Fence): string | undefined {
  const fence = /^([ \t]*)(`{3,}|~{3,})(?:[ \t].*)?$/.exec(line);
  if (fence !== null) return fence[1]!.length <= indent + 3 && fence[2]!.startsWith(marks) ? "" : undefined;
  const text = line.trimEnd();
  const isEnd = text.endsWith(marks) && text.indexOf(marks) === text.length - marks.length;
  return isEnd ? text.slice(0, -marks.length) : undefined;
}

function languageOf(info: string): string {
  return /^\{?\.?([a-z][a-z+#_-]*)/.exec(info.trim().toLowerCase())?.[1] ?? "";
}

function block({ language, indent, lines }: Fence & { readonly lines: readonly string[] }): CodeBlock {
  return { language, code: withoutIndent(lines, indent) };
}

/** Joins lines without their common indentation, of which at most `most` characters are removed. */
export function withoutIndent(lines: readonly string[], most = Number.POSITIVE_INFINITY): string {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/[^ \t]/));
  const removed = Math.min(most, ...indents);
  return lines.map((line) => line.slice(Math.min(removed, line.search(/[^ \t]|$/)))).join("\n");
}
