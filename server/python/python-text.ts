import type { Json } from "../../src/contract/json.ts";

/** Returns the literal of a JSON value in Python. */
export function pythonLiteral(value: Json): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value as Readonly<Record<string, Json>>);
    return `{${entries.map(([key, one]) => `${JSON.stringify(key)}: ${pythonLiteral(one)}`).join(", ")}}`;
  }
  // The escapes of JSON are also those of Python. So are its numbers.
  return JSON.stringify(value);
}

/**
 * Returns a text of a spec as one line, safe in a docstring. The words with a colon that begin a section of a docstring
 * lose their meaning, because TRL reads the sections.
 */
export function docText(text: string): string {
  return oneLine(text)
    .replaceAll(/\b(Args|Returns|Raises|Yields):/g, "$1 -")
    .replaceAll(/\(choices:/gi, "(choices -")
    .replaceAll("\\", "\\\\")
    .replaceAll('"', "'");
}

/** Returns a text as one line without control characters. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Breaks a line at blanks, so that each line has at most `width` characters if its words allow it. */
export function wrapped(
  text: string,
  { indent, width = 96 }: { readonly indent: string; readonly width?: number },
): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent.length + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${indent}`);
}
