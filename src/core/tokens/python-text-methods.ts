/** The characters that Python's `str.strip` removes by default. */
const pythonWhitespace =
  "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
  "\u2028\u2029\u202f\u205f\u3000";

/** Python's `strip` of one or both sides. An undefined value is an empty text. */
export function strip(
  text: unknown,
  characters: unknown,
  sides: { readonly start: boolean; readonly end: boolean },
): string {
  if (text === undefined) return "";
  if (typeof text !== "string") throw new Error("only a text can be stripped");
  const stripped = new Set(typeof characters === "string" ? characters : pythonWhitespace);
  const all = [...text];
  let start = 0;
  let end = all.length;
  while (sides.start && start < end && stripped.has(all[start]!)) start++;
  while (sides.end && end > start && stripped.has(all[end - 1]!)) end--;
  return all.slice(start, end).join("");
}

/** Python's `capitalize`. */
export function capitalized(text: string): string {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("").toLowerCase();
}

/** The line ends of Python's `splitlines`. */
const lineEnd = String.raw`\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]`;

/** Methods of `str` that are missing or differ. */
export const textMethods: Readonly<Record<string, (text: string, ...given: unknown[]) => unknown>> = {
  capitalize: capitalized,
  count: (text, part) => text.split(String(part)).length - 1,
  find: (text, part) => text.indexOf(String(part)),
  rfind: (text, part) => text.lastIndexOf(String(part)),
  join: (text, parts) => (parts as unknown[]).join(text),
  removeprefix: (text, part) => (text.startsWith(String(part)) ? text.slice(String(part).length) : text),
  removesuffix: (text, part) =>
    part !== "" && text.endsWith(String(part)) ? text.slice(0, -String(part).length) : text,
  splitlines: (text) =>
    text
      .replace(new RegExp(`(${lineEnd})$`), "")
      .split(text === "" ? /(?!)/ : new RegExp(lineEnd))
      .filter((_, i) => text !== "" || i > 0),
  rsplit: (text, separator, most = -1) => rightSplit(text, separator, Number(most)),
  partition: (text, separator) => {
    const at = text.indexOf(String(separator));
    return at < 0 ? [text, "", ""] : [text.slice(0, at), separator, text.slice(at + String(separator).length)];
  },
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isspace: (text) => text !== "" && strip(text, undefined, { start: true, end: true }) === "",
};

function rightSplit(text: string, separator: unknown, most: number): string[] {
  const parts =
    typeof separator === "string" ? text.split(separator) : text.split(/\s+/u).filter((part) => part !== "");
  if (most < 0 || parts.length <= most + 1) return parts;
  const joined = typeof separator === "string" ? separator : " ";
  return [parts.slice(0, parts.length - most).join(joined), ...parts.slice(parts.length - most)];
}
