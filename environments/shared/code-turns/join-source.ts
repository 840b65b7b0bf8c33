import type { Language } from "../../../sandbox/execution.ts";
import { readLogicalLines } from "../../../sandbox/grading/python/python-tokens.ts";

/** Sources as one program. */
export interface JoinedSource {
  readonly source: string;
  /** For each part, the lines of the program before it. */
  readonly linesBefore: readonly number[];
}

/**
 * Pieces of source one after another, each on lines of its own. Python's `from __future__` imports, which must come
 * first, are put there.
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

/** Python source without its imports from `__future__`, whose place stays empty, and these. */
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
    // What comes after a semicolon begins the line now.
    end = semicolon === -1 ? last.end : (tokens[semicolon + 1]?.start ?? tokens[semicolon]!.end);
  }
  return { rest: rest + source.slice(end), future };
}
