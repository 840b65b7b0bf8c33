import { type CodeBlock, readFences, withoutIndent } from "./code-blocks.ts";

/**
 * Returns the code of a text. Use it to grade a reply.
 *
 * - With `names`, this is the last block that defines all of them at the beginning of a line, otherwise the last block
 *   of each name, together. Imports and helpers that this code uses are added from blocks that only define something.
 *   Usage examples, tests and printed output are therefore left out. Text outside of blocks counts if no block defines a
 *   name, for replies that only close a fence.
 * - Without `names`, or if nothing defines them, this is the last block.
 * - With `languages`, blocks that are marked with one of them or with none are preferred; without `names`, others are
 *   not taken.
 *
 * Undefined if there is no such block.
 */
export function extractCode(
  text: string,
  options: { readonly languages?: readonly string[]; readonly names?: readonly string[] } = {},
): string | undefined {
  const { languages, names = [] } = options;
  const { blocks, between } = readFences(text);
  const isWanted = ({ language }: CodeBlock): boolean =>
    languages === undefined || language === "" || languages.includes(language);
  const wanted = blocks.filter(isWanted).map(({ code }) => code);
  if (names.length > 0) {
    const all = blocks.map(({ code }) => code);
    for (const codes of blocks.length === 0 ? [] : [wanted, all, between]) {
      const code = definingCode(codes, names);
      if (code !== undefined) return code;
    }
  }
  return wanted.at(-1);
}

/** Returns the code that defines names, with what it uses of other blocks. Undefined if no block defines a name. */
function definingCode(codes: readonly string[], names: readonly string[]): string | undefined {
  const whole = codes.findLastIndex((code) => names.every((name) => defines(code, name)));
  const places = whole === -1 ? names.map((name) => codes.findLastIndex((code) => defines(code, name))) : [whole];
  const chosen = inOrder(places.filter((place) => place !== -1));
  if (chosen.length === 0) return undefined;
  const parts = [...helpersOf(codes, chosen), ...chosen].map((place) => codes[place]!);
  return parts.length === 1 ? parts[0] : parts.map((code) => withoutIndent(code.split("\n"))).join("\n\n");
}

/** Returns the places of the blocks that only define something and that the chosen blocks use, directly or not. */
function helpersOf(codes: readonly string[], chosen: readonly number[]): readonly number[] {
  const defined = codes.map(definedNames);
  const definers = new Map<string, number[]>();
  for (const [place, code] of codes.entries()) {
    if (!isDefinitionsOnly(code)) continue;
    for (const name of defined[place]!) definers.set(name, [...(definers.get(name) ?? []), place]);
  }
  const known = new Set(chosen.flatMap((place) => [...defined[place]!]));
  const helpers: number[] = [];
  const pending = [...chosen];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    for (const name of codes[place]!.match(identifiers) ?? []) {
      if (known.has(name)) continue;
      const found = definers.get(name)?.findLast((at) => at < chosen.at(-1)!) ?? definers.get(name)?.[0];
      if (found === undefined) continue;
      for (const other of defined[found]!) known.add(other);
      helpers.push(found);
      pending.push(found);
    }
  }
  return inOrder(helpers);
}

const inOrder = (places: readonly number[]): readonly number[] => [...new Set(places)].toSorted((a, b) => a - b);

// Patterns read the beginnings of lines, and are linear in a reply's length.
const identifiers = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
const keyword = String.raw`(?:export[ \t]+(?:default[ \t]+)?)?(?:async[ \t]+)?(?:def|class|interface|type|enum|function)\b(?:[ \t]*\*)?[ \t]*`;
const imported = String.raw`(?!.*(?:\brequire|\bimport)[ \t]*\()`;

/** Returns true if code defines a function, class, method or variable. An import is no definition. */
function defines(code: string, name: string): boolean {
  const id = `${name.replaceAll(/[^\w]/g, "\\$&")}(?![\\w$])`;
  const forms = [
    String.raw`[ \t]*${keyword}${id}`,
    String.raw`[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+${id}${imported}`,
    String.raw`(?:(?:module\.)?exports\.)?${id}[ \t]*(?::[^=\n]+)?=(?![=>])${imported}`,
  ];
  return new RegExp(`^(?:${forms.join("|")})`, "m").test(code);
}

/** Returns true if all statements are imports, definitions or assignments, as far as their first lines show. */
function isDefinitionsOnly(code: string): boolean {
  const starts = withoutIndent(code.split("\n"))
    .split("\n")
    .filter((line) => /^[^\s#)\]}]/.test(line) && !line.startsWith("//"));
  return starts.length > 0 && starts.every((line) => definition.test(line) || assigned(line) !== undefined);
}

const definition = new RegExp(String.raw`^(?:@|${keyword}|(?:from|import|export|const|let|var)\b)`);

/** Returns the names on the left of an assignment. */
function assigned(line: string): string | undefined {
  const [left] = line.split("=", 1);
  const isAssignment = left !== line && !/^=/.test(line.slice(left!.length + 1)) && /^[\p{L}_$]/u.test(line);
  return isAssignment && /^[\p{L}\p{N}_$, \t]+(?::.*)?$/u.test(left!) ? left!.split(":", 1)[0] : undefined;
}

/** Returns the names that the statements of code define or import. */
function definedNames(code: string): ReadonlySet<string> {
  const source = withoutIndent(code.split("\n"));
  const forms = [
    `^${keyword}([\\p{L}_$][\\p{L}\\p{N}_$]*)`,
    String.raw`^(?:export[ \t]+)?(?:const|let|var)[ \t]+(\{[^}]{0,2000}\}|\[[^\]]{0,2000}\]|[^=\n]+)`,
    String.raw`^import\s+((?:[^"'\n{]|\{[^}]{0,2000}\})*)`,
    String.raw`^from\s+\S+\s+import\s+(\([^)]{0,2000}\)|.*)`,
  ];
  const declared = forms.flatMap((form) => [...source.matchAll(new RegExp(form, "gmu"))].map(([, names]) => names!));
  const parts = [...declared, ...source.split("\n").map((line) => assigned(line) ?? "")];
  return new Set(parts.flatMap((part) => part.match(identifiers) ?? []));
}
