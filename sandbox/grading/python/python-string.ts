import type { PlainValue } from "../../plain-value.ts";

/**
 * Returns the value of one string literal with its prefix and quotes: a str, or bytes. Undefined for f-strings,
 * template strings, named characters (`\N{...}`) and invalid literals.
 */
export function readPythonString(literal: string): PlainValue | undefined {
  const [, prefix, quotes] = /^(\w*)("""|'''|"|')/.exec(literal)!;
  const kinds = prefix!.toLowerCase();
  if (kinds.includes("f") || kinds.includes("t")) return undefined;
  const body = literal.slice(prefix!.length + quotes!.length, -quotes!.length).replace(/\r\n?/g, "\n");
  const isBytes = kinds.includes("b");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes literals contain ASCII only.
  if (isBytes && /[^\x00-\x7f]/.test(body)) return undefined;
  const text = kinds.includes("r") ? body : withoutEscapes(body, isBytes);
  if (text === undefined || !isBytes) return text;
  return { bytes: Buffer.from(text, "latin1").toString("base64") };
}

const simple: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const escapeSequence = /\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]))/g;

function withoutEscapes(body: string, isBytes: boolean): string | undefined {
  let isValid = true;
  const refuse = (): string => {
    isValid = false;
    return "";
  };
  const text = body.replace(escapeSequence, (whole, octal, byte, four, eight, other) => {
    if (octal !== undefined) return character(Number.parseInt(octal, 8) & (isBytes ? 0xff : 0x1ff));
    if (byte !== undefined) return character(Number.parseInt(byte, 16));
    const wide: string | undefined = four ?? eight;
    if (wide !== undefined) {
      if (isBytes) return whole;
      const code = Number.parseInt(wide, 16);
      // Two adjacent surrogates would be one character here, but are two in Python.
      return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? refuse() : character(code);
    }
    if (!isBytes && (other === "N" || other === "u" || other === "U")) return refuse();
    if (other === "x") return refuse();
    // A backslash that starts no escape is kept.
    return simple[other] ?? whole;
  });
  return isValid ? text : undefined;
}

function character(code: number): string {
  return String.fromCodePoint(code);
}
