import { type LogicalLine, type PythonToken, readLogicalLines } from "./python-tokens.ts";

/** A statement with all its parts: decorators, its block, `else` and similar. */
export interface PythonStatement {
  /** The tokens of its first line, without a `;`. */
  readonly tokens: readonly PythonToken[];
  /** The statements of its block. Empty if it has no block, or has it on the same line. */
  readonly body: readonly PythonStatement[];
  /** All tokens, including those of the block. */
  readonly allTokens: readonly PythonToken[];
  /** Its source, dedented. Comments between lines are omitted. */
  readonly text: string;
}

/** Parses a source into statements. Undefined if it is not valid Python. */
export function readPythonStatements(source: string): readonly PythonStatement[] | undefined {
  const lines = readLogicalLines(source);
  return lines && statementsOf(lines, source);
}

const clauses = new Set(["else", "elif", "except", "finally"]);
const compound = new Set(["if", "for", "while", "try", "with", "def", "class", "async", "match", "@"]);

function statementsOf(lines: readonly LogicalLine[], source: string): PythonStatement[] {
  const statements: PythonStatement[] = [];
  for (let start = 0; start < lines.length; ) {
    const { indent } = lines[start]!;
    let end = start + 1;
    while (end < lines.length && belongsTo(lines, end, indent)) end++;
    const own = lines.slice(start, end);
    if (end === start + 1 && !compound.has(own[0]!.tokens[0]!.text)) {
      statements.push(...simpleStatements(own[0]!.tokens, source));
    } else {
      statements.push(blockStatement(own, source));
    }
    start = end;
  }
  return statements;
}

function belongsTo(lines: readonly LogicalLine[], at: number, indent: number): boolean {
  const line = lines[at]!;
  if (line.indent !== indent) return line.indent > indent;
  return clauses.has(line.tokens[0]!.text) || lines[at - 1]!.tokens[0]!.text === "@";
}

function blockStatement(lines: readonly LogicalLine[], source: string): PythonStatement {
  const base = lines[0]!.indent;
  const inner = lines.findIndex(({ indent }) => indent > base);
  const after = lines.findIndex(({ indent }, i) => i > inner && indent <= base);
  return {
    tokens: lines[0]!.tokens,
    body: inner === -1 ? [] : statementsOf(lines.slice(inner, after === -1 ? lines.length : after), source),
    allTokens: lines.flatMap(({ tokens }) => tokens),
    text: lines.map(({ indent, tokens }) => " ".repeat(indent - base) + sourceOf(tokens, source)).join("\n"),
  };
}

function simpleStatements(tokens: readonly PythonToken[], source: string): PythonStatement[] {
  const pieces: PythonToken[][] = [[]];
  for (const token of tokens) {
    if (token.text === ";") pieces.push([]);
    else pieces.at(-1)!.push(token);
  }
  return pieces
    .filter((piece) => piece.length > 0)
    .map((piece) => ({ tokens: piece, body: [], allTokens: piece, text: sourceOf(piece, source) }));
}

function sourceOf(tokens: readonly PythonToken[], source: string): string {
  return source.slice(tokens[0]!.start, tokens.at(-1)!.end);
}
