/**
 * Characters that are invisible but affect a terminal, a browser or a reader: control characters (which begin escape
 * sequences), what Unicode calls default-ignorable (bidirectional overrides, invisible separators, joiners of graphemes,
 * tags), the blank of Braille, lone surrogates and noncharacters. Joiners and variation selectors stay, because emoji and
 * scripts need them.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u2800\uFFF9-\uFFFB]|(?!\u200C|\u200D|[\uFE00-\uFE0F])\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}|\p{Surrogate}/gu;

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
