/** The characters that Python's `str.strip` removes by default. */
const pythonWhitespace =
  "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
  "\u2028\u2029\u202f\u205f\u3000";

/** Python's `strip` of one or both sides. */
export function strip(
  text: string,
  characters: unknown = undefined,
  sides: { readonly start: boolean; readonly end: boolean } = { start: true, end: true },
): string {
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

/** Methods of `str` that are missing in `@huggingface/jinja` or differ there. */
export const textMethods: Readonly<Record<string, (text: string, ...given: unknown[]) => unknown>> = {
  capitalize: capitalized,
  casefold: (text) => text.toLowerCase().replaceAll("ß", "ss"),
  count: (text, part, ...range) => sliced(text, range).split(String(part)).length - 1,
  endswith: (text, ends, ...range) => listed(ends).some((end) => sliced(text, range).endsWith(end)),
  find: (text, part, ...range) => position(text, part, range, "indexOf"),
  format: formatted,
  index: (text, part, ...range) => found(position(text, part, range, "indexOf")),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  islower: (text) => /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text),
  isnumeric: (text) => /^\p{N}+$/u.test(text),
  isspace: (text) => text !== "" && strip(text) === "",
  isupper: (text) => /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text),
  join: (text, parts) => (parts as unknown[]).join(text),
  ljust: (text, width, fill = " ") => text + padding(text, width, fill),
  lstrip: (text, characters) => strip(text, characters, { start: true, end: false }),
  partition: (text, separator) => {
    const at = text.indexOf(String(separator));
    return at < 0 ? [text, "", ""] : [text.slice(0, at), separator, text.slice(at + String(separator).length)];
  },
  removeprefix: (text, part) => (text.startsWith(String(part)) ? text.slice(String(part).length) : text),
  removesuffix: (text, part) =>
    part !== "" && text.endsWith(String(part)) ? text.slice(0, -String(part).length) : text,
  rfind: (text, part, ...range) => position(text, part, range, "lastIndexOf"),
  rindex: (text, part, ...range) => found(position(text, part, range, "lastIndexOf")),
  rjust: (text, width, fill = " ") => padding(text, width, fill) + text,
  rpartition: (text, separator) => {
    const at = text.lastIndexOf(String(separator));
    return at < 0 ? ["", "", text] : [text.slice(0, at), separator, text.slice(at + String(separator).length)];
  },
  rsplit: (text, separator, most = -1) => rightSplit(text, separator, Number(most)),
  rstrip: (text, characters) => strip(text, characters, { start: false, end: true }),
  split: (text, separator, most = -1) => split(text, separator, Number(most)),
  splitlines: (text) =>
    text
      .replace(new RegExp(`(${lineEnd})$`), "")
      .split(text === "" ? /(?!)/ : new RegExp(lineEnd))
      .filter((_, i) => text !== "" || i > 0),
  startswith: (text, starts, ...range) => listed(starts).some((start) => sliced(text, range).startsWith(start)),
  strip: (text, characters) => strip(text, characters),
  zfill: (text, width) => text.replace(/^[+-]?/, (sign) => sign + padding(text, width, "0")),
};

/** Positions in Python count code points. */
function sliced(text: string, [start, end]: readonly unknown[]): string {
  if (start === undefined) return text;
  return [...text].slice(Number(start ?? 0), end === undefined || end === null ? undefined : Number(end)).join("");
}

function position(text: string, part: unknown, range: readonly unknown[], how: "indexOf" | "lastIndexOf"): number {
  const length = [...text].length;
  const start = Number(range[0] ?? 0);
  const searched = sliced(text, range);
  const at = searched[how](String(part));
  if (at < 0) return -1;
  return Math.max(0, start < 0 ? length + start : start) + [...searched.slice(0, at)].length;
}

function found(at: number): number {
  if (at < 0) throw new Error("the part is not in the text");
  return at;
}

function listed(parts: unknown): readonly string[] {
  const list = Array.isArray(parts) ? parts : [parts];
  if (!list.every((part) => typeof part === "string")) throw new Error("only a text begins or ends a text");
  return list;
}

function padding(text: string, width: unknown, fill: unknown): string {
  const count = Math.max(0, Number(width) - [...text].length);
  if (count > 100_000) throw new Error("it pads a text to more than 100000 characters");
  return String(fill).repeat(count);
}

/** Python's `str.format` with the fields `{}` and `{0}`. Other fields are refused. */
function formatted(text: string, ...given: unknown[]): string {
  let next = 0;
  return text.replace(/\{\{|\}\}|\{(\d*)\}|[{}]/g, (field, at: string | undefined) => {
    if (field === "{{" || field === "}}") return field.charAt(0);
    const value = at === undefined ? undefined : given[at === "" ? next++ : Number(at)];
    if (typeof value !== "string") throw new Error(`the field ${field} of format is not known or has no text`);
    return value;
  });
}

/** Python's `split`: without a separator, by runs of white space. */
function split(text: string, separator: unknown, most: number): string[] {
  if (separator === "") throw new Error("empty separator");
  if (typeof separator === "string") {
    const parts = text.split(separator);
    return most < 0 || parts.length <= most + 1 ? parts : [...parts.slice(0, most), parts.slice(most).join(separator)];
  }
  const parts: string[] = [];
  let rest = strip(text, undefined, { start: true, end: false });
  while (rest !== "") {
    const end = parts.length === most ? -1 : [...rest].findIndex((character) => pythonWhitespace.includes(character));
    const part = end < 0 ? rest : [...rest].slice(0, end).join("");
    parts.push(part);
    rest = strip(rest.slice(part.length), undefined, { start: true, end: false });
  }
  return parts;
}

/** Splits from the right. */
function rightSplit(text: string, separator: unknown, most: number): string[] {
  const reversed = (part: string): string => [...part].reverse().join("");
  const parts = split(reversed(text), typeof separator === "string" ? reversed(separator) : separator, most);
  return parts.map(reversed).reverse();
}
