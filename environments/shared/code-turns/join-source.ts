import type { Language } from "../../../sandbox/execution.ts";
import { readLogicalLines } from "../../../sandbox/grading/python/python-tokens.ts";

/** Several sources joined to one program. */
export interface JoinedSource {
  readonly source: string;
  /** For each part, the number of lines before it. */
  readonly linesBefore: readonly number[];
}

/**
 * Joins pieces of source code, each on its own lines. Python's `from __future__` imports are moved to the start,
 * because they must come first.
 */
export function joinSource(language: Language, parts: readonly string[]): JoinedSource {
  const split = parts.map((part) => (language === "python" ? withoutFuture(part) : { rest: part, future: [] }));
  const first = split.flatMap(({ future }) => future);
  const linesBefore: number[] = [];
  let source = first.map((line) => `${line}\n`).join("");
  for (const { rest } of split) {
    linesBefore.push(source.split("\n").length - 1);
    source += rest === "" || rest.endsWith("\n") ? rest : `${rest}\n`;
  }
  return { source, linesBefore };
}

/** Splits Python source code into its `__future__` imports and the rest. Each import's lines stay as empty lines. */
function withoutFuture(source: string): { readonly rest: string; readonly future: readonly string[] } {
  const future: string[] = [];
  let rest = "";
  let end = 0;
  for (const { indent, tokens } of (source.includes("__future__") ? readLogicalLines(source) : undefined) ?? []) {
    if (indent > 0 || tokens[0]?.text !== "from" || tokens[1]?.text !== "__future__") continue;
    const semicolon = tokens.findIndex((token) => token.text === ";");
    const last = tokens.at(semicolon === -1 ? -1 : semicolon - 1)!;
    const text = source.slice(tokens[0].start, last.end);
    future.push(text.replaceAll(/\\?\s*\n\s*/g, " "));
    rest += source.slice(end, tokens[0].start) + text.replaceAll(/[^\n]/g, "");
    // The code after a semicolon becomes the start of the line.
    end = semicolon === -1 ? last.end : (tokens[semicolon + 1]?.start ?? tokens[semicolon]!.end);
  }
  return { rest: rest + source.slice(end), future };
}
