import { LyceumError } from "../../contract/errors/index.ts";

/** The limits of a JSON text of another program. */
export interface JsonLimits {
  /** The maximum number of values of lists and of keys of objects, at all depths together. */
  readonly maxElements: number;
  /** The maximum number of lists and objects that contain each other. 100 by default, as in Protocol Buffers. */
  readonly maxDepth?: number;
}

/** The limits of messages, which have texts and not token ids: 40,000 turns of a conversation, for example. */
export const messageLimits: JsonLimits = { maxElements: 2 ** 18 };

/**
 * Parses a JSON text of another program. Counts its elements first, because a short text can become a value that is a
 * hundred times as large. Returns undefined if the text is not JSON. Throws `server.invalid-request` if it has too many
 * elements or is nested too deeply.
 */
export function parseLimitedJson(text: string, limits: JsonLimits): unknown {
  checkJsonSize(text, limits);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Throws `server.invalid-request` at the first element or level too many. Creates no objects. */
function checkJsonSize(text: string, { maxElements, maxDepth = 100 }: JsonLimits): void {
  // Each element and each level has a character of its own.
  if (text.length <= Math.min(maxElements, maxDepth)) return;
  let elements = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfText(text, at);
      if (at < 0) return;
    } else if (code === comma) elements += 1;
    else if (code === openList || code === openObject) {
      elements += 1;
      depth += 1;
      if (depth > maxDepth) throw nestedTooDeeply(maxDepth);
    } else if (code === closeList || code === closeObject) depth -= 1;
    else continue;
    if (elements > maxElements) throw tooManyElements(maxElements);
  }
}

/** Returns the place of the quote that ends the text from `start`. -1 if none does. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}

/** Creates the error for a request with more elements than a server reads. */
export function tooManyElements(maxElements: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The request has more than ${maxElements} values in its lists and objects.`,
    hint: "Send several smaller requests.",
    data: { tooLarge: true },
  });
}

function nestedTooDeeply(maxDepth: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The message has more than ${maxDepth} lists and objects in each other.`,
    hint: "Send a flatter value, or a text that contains it.",
  });
}
