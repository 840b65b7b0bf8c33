/** Text that its writer struck out. */
const struck = /~~[^~\n]{1,200}~~|<(del|strike)>[^<]{0,200}<\/\1>/gi;
const lineTags = /<(?:br|\/?p|\/?div|\/?center|\/?li|\/?[uo]l|\/?h[1-6])(?:\s[^<>]{0,200})?\/?>/gi;
const styleTags = /<\/?(?:b|strong|i|em|u|mark|code|kbd|span|font|small|big)(?:\s[^<>]{0,200})?>/gi;
/** Emphasis. It neither touches a word outside nor a blank inside, so that `2**3` and `x_1` are none. */
const emphasis = [
  /(?<![\w)\]}*\\])(\*{1,3})(?=[^\s*])([^*\n]{1,400}?)(?<=\S)\1(?![\w([{\\*]|\s*\*)/g,
  /(?<![\w)\]}_\\])(_{1,3})(?=[^\s_{])([^_\n]{1,400}?)(?<=\S)\1(?![\w{])/g,
  /(?<![=\w])(==)(?=[^\s=])([^=\n]{1,200}?)(?<=\S)\1(?![=\w])/g,
];
const quotes = /(?<![\w"])"([^"\n]{1,200})"(?!\w)|[\u201C\u201D\u201E\u00AB\u00BB\u2039\u203A\u300C-\u300F]/g;
const singleQuotes = /(?<![\w'\u2019)\]}])(?:'|[\u2018\u201A])(-?[$€£¥]?[\d.,/]+%?)(?:'|[\u2018\u2019])(?!\w)/g;

/**
 * Removes Markdown emphasis, inline HTML, quotation marks and fences. The text between them stays; struck text goes.
 */
export function withoutMarkup(text: string): string {
  const [strong, underlined, highlighted] = emphasis as [RegExp, RegExp, RegExp];
  return text
    .replace(struck, " ")
    .replace(lineTags, "\n")
    .replace(styleTags, "")
    .replace(/&nbsp;/g, " ")
    .replace(/^[ \t]*(?:```|~~~)[^\n`]*$/gm, "")
    .replace(/`([^`\n]{1,400})`/g, "$1")
    .replace(strong, "$2")
    .replace(strong, "$2")
    .replace(underlined, "$2")
    .replace(highlighted, "$2")
    .replace(quotes, "$1")
    .replace(singleQuotes, "$1");
}

const listMark = /^[ \t]*(?:[-*+\u2022\u2023\u25E6\u2013]|\(?\d{1,2}[.)])[ \t]+(?=\S)/;
/** A line whose next line continues it, so that a minus there is no list mark. */
const isOpen = /[-=+*/,(]\s*$|\$\$\s*$|\\\[\s*$/;

/**
 * Removes list marks. A list of short items becomes one line, `18, 19`, because it states all of them. After a label
 * such as "Answer:", a list of calculations becomes its last one. A mark at the start of the text is a minus or a
 * number unless another follows.
 */
export function withoutListMarks(text: string): string {
  const lines = text.split("\n");
  const result: string[] = [];
  /** The last line that is not blank. */
  let before: string | undefined;
  for (let i = 0; i < lines.length; i++) {
    const items: string[] = [];
    const end = before !== undefined && isOpen.test(before) ? i : lines.length;
    for (let at = i; at < end; at++) {
      const line = lines[at]!;
      if (line.trim() === "" && items.length > 0 && listMark.test(lines[at + 1] ?? "")) continue;
      if (!listMark.test(line)) break;
      items.push(line.replace(listMark, ""));
      i = at;
    }
    const isText = items.length === 0 || (items.length === 1 && before === undefined);
    const written = isText ? [lines[i]!] : mergedItems(items, before);
    result.push(...written);
    before = written.findLast((line) => line.trim() !== "") ?? before;
  }
  return result.join("\n");
}

function mergedItems(items: readonly string[], before = ""): readonly string[] {
  const areSteps = items.every((item) => /[\d)}]\s*=/.test(item));
  if (areSteps) return /answer[\s:]*$/i.test(before) ? items.slice(-1) : items;
  const areShort =
    items.length > 1 && items.every((item) => item.length <= 60 && /^\W{0,3}(?:\d|[A-Za-z]\s*=)/.test(item));
  return areShort ? [items.map((item) => item.replace(/[\s.,;]+$/, "")).join(", ")] : items;
}
