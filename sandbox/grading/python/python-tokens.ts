/** A token of Python source, as offsets into the text. */
export interface PythonToken {
  readonly kind: "name" | "number" | "string" | "operator";
  readonly text: string;
  /** Offset of its first UTF-16 code unit. */
  readonly start: number;
  readonly end: number;
}

/** A logical line of Python. Brackets, triple quotes and backslashes join physical lines. */
export interface LogicalLine {
  /** Columns of leading white space. A tab advances to the next multiple of 8. */
  readonly indent: number;
  /** At least one token. Comments are omitted. */
  readonly tokens: readonly PythonToken[];
}

const space = /[ \t\f\v]*/y;
const newline = /\r\n|\r|\n/y;
const comment = /#[^\r\n]*/y;
const name = /[\p{XID_Start}_][\p{XID_Continue}]*/uy;
const number =
  /(?:0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:(?:\d(?:_?\d)*)?\.\d(?:_?\d)*|\d(?:_?\d)*\.?)(?:[eE][+-]?\d(?:_?\d)*)?[jJ]?)/y;
const stringStart = /(?:[rRbBuUfFtT]|[bBfFtT][rR]|[rR][bBfFtT])?("""|'''|"|')/y;
const operator =
  /\*\*=|\/\/=|>>=|<<=|\.\.\.|\*\*|\/\/|>>|<<|<=|>=|==|!=|->|:=|[-+*/%@&|^]=|[-+*/%@&|^~<>()[\]{},:.;=]/y;

/** Splits a source into logical lines. Undefined if it is not valid Python. */
export function readLogicalLines(source: string): readonly LogicalLine[] | undefined {
  if (source.includes("\0")) return undefined;
  const lines: LogicalLine[] = [];
  let tokens: PythonToken[] = [];
  let indent = 0;
  const open: string[] = [];
  let at = source.startsWith("\ufeff") ? 1 : 0;
  let lineStart = at;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const [text] = pattern.exec(source) ?? [];
    at += text?.length ?? 0;
    return text;
  };
  const endLine = (): void => {
    if (tokens.length > 0) lines.push({ indent, tokens });
    tokens = [];
    lineStart = at;
  };
  while (at < source.length) {
    take(space);
    take(comment);
    if (at === source.length) break;
    if (take(newline) !== undefined) {
      if (open.length === 0) endLine();
      continue;
    }
    if (source[at] === "\\") {
      at++;
      if (take(newline) === undefined) return undefined;
      continue;
    }
    if (tokens.length === 0) indent = columns(source.slice(lineStart, at));
    const start = at;
    const kind = readToken(take);
    if (kind === undefined) return undefined;
    if (kind === "string") {
      const end = stringEnd(source, at, source.slice(start, at));
      if (end === undefined) return undefined;
      at = end;
    }
    const text = source.slice(start, at);
    if (kind === "operator" && !nests(open, text)) return undefined;
    tokens.push({ kind, text, start, end: at });
  }
  endLine();
  return open.length === 0 ? lines : undefined;
}

/** Reads the next token. For a string, reads only its prefix and opening quote. */
function readToken(take: (pattern: RegExp) => string | undefined): PythonToken["kind"] | undefined {
  if (take(stringStart) !== undefined) return "string";
  if (take(name) !== undefined) return "name";
  if (take(number)) return "number";
  return take(operator) === undefined ? undefined : "operator";
}

/** Returns the offset after a string's closing quotes. Undefined if the string is not closed. */
function stringEnd(source: string, from: number, opening: string): number | undefined {
  const quotes = opening.replace(/^\w+/, "");
  for (let at = from; at < source.length; at++) {
    if (source.startsWith(quotes, at)) return at + quotes.length;
    const character = source[at]!;
    if (quotes.length === 1 && (character === "\n" || character === "\r")) return undefined;
    if (character !== "\\") continue;
    at += source.startsWith("\r\n", at + 1) ? 2 : 1;
  }
  return undefined;
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Tracks open brackets. Returns false if a bracket does not match. */
function nests(open: string[], text: string): boolean {
  const close = closing[text];
  if (close !== undefined) open.push(close);
  else if (text === ")" || text === "]" || text === "}") return open.pop() === text;
  return true;
}

function columns(blank: string): number {
  let column = 0;
  for (const character of blank) {
    if (character === "\t") column += 8 - (column % 8);
    else if (character === "\f") column = 0;
    else column++;
  }
  return column;
}
