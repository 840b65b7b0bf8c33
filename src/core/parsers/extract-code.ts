import { type CodeBlock, readFences, withoutIndent } from "./code-blocks.ts";
import { isStub, withoutLongTexts } from "./stub-definition.ts";

/**
 * Returns the code of a text. Use it to grade a reply.
 *
 * - With `names`, this is the last block that defines all of them at the beginning of a line, otherwise the last block
 *   of each name, together. Imports and helpers that this code uses are added from blocks that only define something.
 *   Usage examples, tests, printed output and signatures without an implementation are therefore left out. Text outside of blocks counts if no block defines a
 *   name, for replies that only close a fence.
 * - Without `names`, or if nothing defines them, this is the last block.
 * - `usedBy` is code that runs with the result, such as tests. What it uses of other blocks is added.
 * - With `methods`, the names are methods, and a definition counts wherever it is. Otherwise one at the beginning of a
 *   line counts before one inside of a class or function. What test classes and test functions define does not count.
 * - With `languages`, blocks that are marked with one of them or with none are preferred; without `names`, others are
 *   not taken.
 *
 * Undefined if there is no such block.
 */
export function extractCode(
  text: string,
  options: {
    readonly languages?: readonly string[];
    readonly names?: readonly string[];
    readonly usedBy?: string;
    readonly methods?: boolean;
  } = {},
): string | undefined {
  const { languages, names = [] } = options;
  const { blocks, between } = readFences(text);
  const isWanted = ({ language }: CodeBlock): boolean =>
    languages === undefined || language === "" || languages.includes(language);
  const wanted = blocks.filter(isWanted).map(({ code }) => code);
  if (names.length > 0) {
    const all = blocks.map(({ code }) => code);
    for (const codes of blocks.length === 0 ? [] : [wanted, all, between]) {
      const code = definingCode(codes, options);
      if (code !== undefined) return code;
    }
  }
  return wanted.at(-1);
}

/** Returns the code that defines names, with what it uses of other blocks. Undefined if no block defines a name. */
function definingCode(
  codes: readonly string[],
  options: { readonly names?: readonly string[]; readonly usedBy?: string; readonly methods?: boolean },
): string | undefined {
  const { names = [], usedBy = "", methods = false } = options;
  const plain = codes.map((code) => withoutLongTexts(withoutIndent(code.split("\n"))));
  const outer = methods ? [] : plain.map(topLevel);
  const inner = plain.map(withoutTests);
  const patterns = names.map(definitionOf);
  type Defines = (place: number, pattern: RegExp) => boolean;
  const isOuter: Defines = (place, pattern) => pattern.test(outer[place] ?? "");
  const isInner: Defines = (place, pattern) => pattern.test(inner[place]!);
  // A definition without an implementation, such as a signature in an explanation, counts only if there is no other.
  const ways: readonly Defines[] = [
    (place, pattern) => isOuter(place, pattern) && !isStub(plain[place]!, pattern, true),
    (place, pattern) => isInner(place, pattern) && !isStub(inner[place]!, pattern, false),
    isOuter,
    isInner,
  ];
  const lastOf = (test: (place: number) => boolean): number => codes.findLastIndex((_, place) => test(place));
  const placeOf = (pattern: RegExp): number =>
    ways.map((defines) => lastOf((place) => defines(place, pattern))).find((place) => place !== -1) ?? -1;
  const single = patterns.map(placeOf);
  const isImplemented = patterns.some((pattern) =>
    ways.slice(0, 2).some((defines) => lastOf((place) => defines(place, pattern)) !== -1),
  );
  const whole = (isImplemented ? ways.slice(0, 2) : ways)
    .map((defines) => lastOf((place) => patterns.every((pattern) => defines(place, pattern))))
    .find((place) => place !== -1);
  const places = inOrder((whole === undefined ? single : [whole]).filter((place) => place !== -1));
  // A stub of a name comes before its implementation, which replaces it.
  const hasStub = (place: number): boolean =>
    patterns.some((pattern, index) => single[index] !== place && isInner(place, pattern));
  const chosen = places.toSorted((a, b) => Number(hasStub(b)) - Number(hasStub(a)));
  if (chosen.length === 0) return undefined;
  const parts = [...helpersOf(codes, { chosen, names, usedBy }), ...chosen].map((place) => codes[place]!);
  return parts.length === 1 ? parts[0] : parts.map((code) => withoutIndent(code.split("\n"))).join("\n\n");
}

/**
 * Returns the places of the blocks that only define something and that the chosen blocks, or the code that runs with
 * them, use, directly or not.
 */
function helpersOf(
  codes: readonly string[],
  {
    chosen,
    names,
    usedBy,
  }: { readonly chosen: readonly number[]; readonly names: readonly string[]; readonly usedBy: string },
): readonly number[] {
  const sources = codes.map((code) => flatImports(withoutLongTexts(code)));
  const defined = sources.map(definedNames);
  const definers = new Map<string, number[]>();
  const helpers: number[] = [];
  for (const [place, source] of sources.entries()) {
    if (!isDefinitionsOnly(source)) continue;
    for (const name of defined[place]!) definers.set(name, [...(definers.get(name) ?? []), place]);
    // Which names `import *` defines is not known.
    if (!chosen.includes(place) && isStarImport(source)) helpers.push(place);
  }
  const known = new Set([...names, ...chosen.flatMap((place) => [...defined[place]!])]);
  const pending = [usedBy, ...[...chosen, ...helpers].map((place) => codes[place]!)];
  for (let code = pending.pop(); code !== undefined; code = pending.pop()) {
    for (const name of code.match(identifiers) ?? []) {
      if (known.has(name)) continue;
      const found = definers.get(name)?.findLast((at) => at < Math.max(...chosen)) ?? definers.get(name)?.[0];
      if (found === undefined) continue;
      for (const other of defined[found]!) known.add(other);
      helpers.push(found);
      pending.push(codes[found]!);
    }
  }
  return inOrder(helpers.filter((place) => !chosen.includes(place)));
}

const inOrder = (places: readonly number[]): readonly number[] => [...new Set(places)].toSorted((a, b) => a - b);

// Patterns read the beginnings of lines, and are linear in a reply's length.
const identifiers = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
const keyword = String.raw`(?:export[ \t]+(?:default[ \t]+)?)?(?:async[ \t]+)?(?:def|class|interface|type|enum|function)\b(?:[ \t]*\*)?[ \t]*`;
const imported = String.raw`(?!.*(?:\brequire|\bimport)[ \t]*\()`;

/**
 * Returns the pattern of a definition of a function, class, method or variable. An import is no definition, and neither
 * is an export of what another block defines.
 */
function definitionOf(name: string): RegExp {
  const id = `${name.replaceAll(/[^\w]/g, "\\$&")}(?![\\w$])`;
  const alone = String.raw`(?![ \t]*${id}[ \t]*;?[ \t]*$)`;
  const forms = [
    String.raw`[ \t]*${keyword}${id}`,
    String.raw`[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+${id}${imported}`,
    String.raw`(?:(?:module\.)?exports\.)?${id}[ \t]*(?::[^=\n]+)?=(?![=>])${alone}${imported}`,
    String.raw`(?:module\.)?exports\[(["'\x60])${id}\1\][ \t]*=(?![=>])${alone}${imported}`,
    String.raw`(?:module\.)?exports[ \t]*=[ \t]*\{(?:[^}\n]*[,{\s]|[\s\S]{0,500}?\n[ \t]{0,8})?(?:async[ \t]+)?${id}[ \t]*(?:\(|:(?![ \t]*${id}[ \t]*(?:[,};]|$)))`,
  ];
  return new RegExp(`^(?:${forms.join("|")})`, "m");
}

/** Returns the lines of code that begin a statement of the module, without what is inside of it. */
function topLevel(code: string): string {
  const lines = withoutIndent(code.split("\n")).split("\n");
  // The methods of an exported object are at the top, too.
  const isExported = lines.some((line) => /^(?:module\.)?exports\s*=\s*\{/.test(line));
  return isExported ? lines.join("\n") : lines.filter((line) => /^\S/.test(line)).join("\n");
}

const testStatement =
  /^(?:export[ \t]+)?(?:async[ \t]+)?(?:def|class|function)[ \t]+(?:[tT]ests?(?![a-z])|\w*_tests?\b|\w*[a-z\d_]Tests?(?:Case|Suite)?\b|\w+\([^)]*TestCase\b)/;

/** Returns code without what test functions and test classes contain. */
function withoutTests(code: string): string {
  let isTest = false;
  return withoutIndent(code.split("\n"))
    .split("\n")
    .filter((line) => {
      if (/^[^\s)\]}]/.test(line)) isTest = testStatement.test(line);
      return !isTest;
    })
    .join("\n");
}

/** Returns true if all statements are imports, definitions or assignments, as far as their first lines show. */
function isDefinitionsOnly(source: string): boolean {
  const starts = source
    .split("\n")
    .filter((line) => /^[^\s#)\]}]/.test(line) && !/^(?:\/\/|("""|''')\s*("""|''')?$)/.test(line));
  return starts.length > 0 && starts.every((line) => definition.test(line) || assigned(line) !== undefined);
}

/** Names that replies give to the file of the solution itself. */
const ownModule = /^(?:\.|(?:\w+\.)*(?:your_|my_)?(?:solution|main|module|code|answer|script|program|file|app)\w*$)/i;

/** Returns true if code consists of imports, one of them of all names of another module. */
function isStarImport(source: string): boolean {
  const starts = source.split("\n").filter((line) => /^[^\s#)]/.test(line));
  const modules = starts.flatMap((line) => /^from[ \t]+(\S+)[ \t]+import[ \t]+\*/.exec(line)?.[1] ?? []);
  const isImports = starts.every((line) => /^(?:from|import)\b/.test(line));
  return isImports && modules.length > 0 && modules.every((module) => !ownModule.test(module));
}

/** The start of a statement that may surround imports: `try:`, `except ImportError:`, `if TYPE_CHECKING:`, `with suppress(...):`. */
const branchHead = String.raw`(?:try|except\b[^\n:]*|else|finally|if\b[^\n]*?|elif\b[^\n]*?|with (?:contextlib\.)?suppress\([^\n]*?\)):`;
const branch = new RegExp(`^${branchHead}[ \\t]*(?:#.*)?$`);
/** One with its body on the same line: `try: import numpy`. */
const shortBranch = new RegExp(`^${branchHead}(?=[ \\t]+\\S)`);
const plainStatement =
  /^[ \t]+(?:(?:import|from|pass|raise|def|async def|class)\b|[@#"']|[\p{L}_][\p{L}\p{N}_]*[ \t]*=(?!=)|[)\]}])/u;

/** Returns code in which imports, assignments and definitions of branches are at the top, as in `try: import a`. */
function flatImports(code: string): string {
  const lines = withoutIndent(code.split("\n")).split("\n");
  const result: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    let end = i + 1;
    while (end < lines.length && !/^\S/.test(lines[end]!)) end++;
    const inner = lines.slice(i + 1, end).filter((one) => one.trim() !== "");
    const width = inner[0]?.search(/\S/);
    const statements = inner.filter((one) => one.search(/\S/) === width);
    const short = line.replace(shortBranch, "");
    if (short !== line && inner.length === 0 && plainStatement.test(short)) {
      if (!/^\s*(?:pass|raise)\b/.test(short)) result.push(short.trim());
    } else if (branch.test(line) && statements.length > 0 && statements.every((one) => plainStatement.test(one))) {
      result.push(...inner.filter((one) => !/^\s*(?:pass|raise)\b/.test(one)).map((one) => one.slice(width)));
    } else result.push(...lines.slice(i, end));
    i = end - 1;
  }
  return result.join("\n");
}

const definition = new RegExp(
  String.raw`^(?:@|${keyword}|(?:from|import|export|const|let|var)\b|(?:module\.)?exports(?:\.[\w$]+|\[["'\x60][\w$]+["'\x60]\])?[ \t]*=(?!=))`,
);

/** Returns the names on the left of an assignment. */
function assigned(line: string): string | undefined {
  const [left] = line.split("=", 1);
  const isAssignment = left !== line && !/^=/.test(line.slice(left!.length + 1)) && /^[\p{L}_$]/u.test(line);
  return isAssignment && /^[\p{L}\p{N}_$, \t]+(?::.*)?$/u.test(left!) ? left!.split(":", 1)[0] : undefined;
}

const declarations = [
  `^${keyword}([\\p{L}_$][\\p{L}\\p{N}_$]*)`,
  String.raw`^(?:export[ \t]+)?(?:const|let|var)[ \t]+(\{[^}]{0,2000}\}|\[[^\]]{0,2000}\]|[^=\n]+)`,
  String.raw`^(?:module\.)?exports(?:\.|\[["'\x60])([\w$]+)(?:["'\x60]\])?[ \t]*=`,
  String.raw`^import\s+((?:[^"'\n{]|\{[^}]{0,2000}\})*)`,
  String.raw`^from\s+\S+\s+import\s+(\([^)]{0,2000}\)|.*)`,
].map((form) => new RegExp(form, "gmu"));

/** Returns the names that the statements of code define or import. */
function definedNames(source: string): ReadonlySet<string> {
  const declared = declarations.flatMap((form) => [...source.matchAll(form)].map(([, names]) => names!));
  const parts = [...declared, ...source.split("\n").map((line) => assigned(line) ?? "")];
  return new Set(parts.flatMap((part) => part.match(identifiers) ?? []));
}
