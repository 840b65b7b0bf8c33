import { styleText } from "node:util";
import { visibleLine } from "../../src/core/text/visible-text.ts";

/** The style of a span in a terminal. */
export type TextStyle = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>;

/** A part of a line with one style. Its text has no control characters. */
export interface Span {
  readonly text: string;
  readonly style?: TextStyle;
}

/** Creates a span. Hidden characters and line breaks of the text become visible. */
export function span(text: string, style?: TextStyle): Span {
  const shown = visibleLine(text);
  return style === undefined ? { text: shown } : { text: shown, style };
}

// Wide characters by Unicode's East Asian Width (W and F), extended to whole blocks.
const wide =
  /[\u1100-\u115F\u231A\u231B\u2329\u232A\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE1F\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F000}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
const zeroWidth = /^[\p{Mn}\p{Me}\u200C\u200D]$/u;

/**
 * Returns the number of terminal columns of a text without control characters. Each part of a joined emoji counts, as
 * in terminals that do not join them, so a line is never longer than this number.
 */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x300) return 1;
  // An emoji selector can widen the preceding character.
  if (code === 0xfe0f) return 1;
  if (zeroWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Cuts a text to `width` columns, and marks the cut with `…`. */
export function truncateText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let used = 0;
  let kept = "";
  for (const character of text) {
    const next = used + characterWidth(character);
    if (next > width - 1) break;
    kept += character;
    used = next;
  }
  return width <= 0 ? "" : `${kept}…`;
}

/**
 * Wraps a text into at most `maximum` lines of at most `width` columns. The last line is cut if more text follows.
 * Lines break at spaces, which are removed, and within a word only if the word is wider than a line.
 */
export function wrapText(text: string, width: number, maximum: number = Number.POSITIVE_INFINITY): string[] {
  if (displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let rest = text.trim();
  while (displayWidth(rest) > width && lines.length < maximum - 1) {
    const fitting = fittingLength(rest, width);
    // A space directly after a full line is also a place to break.
    const space = rest.lastIndexOf(" ", fitting);
    const end = space > 0 ? space : fitting;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...lines, truncateText(rest, width)];
}

/** Returns how many code units fit into `width` columns, at least those of one character. */
function fittingLength(text: string, width: number): number {
  let used = 0;
  let length = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width && length > 0) break;
    length += character.length;
  }
  return length;
}

/** Renders spans as one line of at most `width` columns, with styles if `color` is true. */
export function renderLine(
  spans: readonly Span[],
  options: { readonly width: number; readonly color: boolean },
): string {
  let left = options.width;
  let line = "";
  for (const { text, style } of spans) {
    const shown = truncateText(text, left);
    left -= displayWidth(shown);
    line += style === undefined || !options.color ? shown : styleText(style, shown, { validateStream: false });
    if (shown !== text) break;
  }
  return line;
}
