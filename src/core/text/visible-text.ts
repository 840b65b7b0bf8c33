/**
 * Characters that are invisible but affect a terminal or browser: control characters (which begin escape sequences),
 * bidirectional overrides, invisible separators, byte-order marks, tag characters and lone surrogates.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}]|\p{Surrogate}/gu;

/**
 * Makes text from a model safe to show: every hidden character becomes a visible escape such as `\x1b` or `\u202e`.
 * Newlines and tabs are kept.
 */
export function visibleText(text: string): string {
  return text.replace(hidden, (character) => {
    const code = character.codePointAt(0)!;
    if (code === 13) return "\\r";
    if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/**
 * Applies {@link visibleText} and puts the text on one line: newlines and tabs become `
 * ` and one space.
 */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/\n/g, "⏎").replace(/\t/g, " ");
}
