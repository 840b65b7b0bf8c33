import type { Json } from "../../contract/json.ts";
import { tryParseExactJson } from "../text/exact-json.ts";

/** The maximum number of opening brackets that are unclosed or contain invalid JSON. */
const maximumFailures = 100;

/**
 * Returns the last JSON object or list in a text: alone, in a fenced block or between words. A nested value is part of
 * its outer one. Integers above 2^53 are texts of their digits. Undefined if there is none.
 */
export function extractJson(text: string): Json | undefined {
  let found: Json | undefined;
  let failures = 0;
  for (let start = nextBracket(text, 0); start >= 0 && failures < maximumFailures; ) {
    const end = closingBracket(text, start);
    const value = end === undefined ? undefined : tryParseExactJson(text.slice(start, end), "text");
    if (value === undefined) failures++;
    else found = value;
    start = nextBracket(text, value === undefined ? start + 1 : end!);
  }
  return found;
}

function nextBracket(text: string, from: number): number {
  const at = text.slice(from).search(/[{[]/);
  return at < 0 ? -1 : from + at;
}

/** Returns the index after the bracket that closes the one at `start`. Ignores brackets in strings. */
function closingBracket(text: string, start: number): number | undefined {
  let depth = 0;
  let isString = false;
  for (let i = start; i < text.length; i++) {
    const character = text[i]!;
    if (isString) {
      if (character === "\\") i++;
      else if (character === '"') isString = false;
    } else if (character === '"') isString = true;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return i + 1;
  }
  return undefined;
}
