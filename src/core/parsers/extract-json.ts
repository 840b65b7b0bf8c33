import { type Json, tryParseJson } from "../../contract/json.ts";

/** Brackets that are tried although nothing closes them, or that hold no JSON. */
const mostFailures = 100;

/**
 * The last JSON object or list in a text, wherever it stands: alone, in a fenced block, among words. One within another
 * is a part of it. Undefined if there is none.
 */
export function extractJson(text: string): Json | undefined {
  let found: Json | undefined;
  let failures = 0;
  for (let start = nextBracket(text, 0); start >= 0 && failures < mostFailures; ) {
    const end = closingBracket(text, start);
    const value = end === undefined ? undefined : tryParseJson<Json>(text.slice(start, end));
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

/** The place after the bracket that closes the one at `start`; brackets in strings do not count. */
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
