import { LyceumError } from "../../contract/errors/index.ts";
import { tryParseJson } from "../../contract/json.ts";

/** The maximum number of lists and objects that contain each other. Protocol Buffers have about the same limit. */
const maxDepth = 100;

/**
 * Parses a text of a client. Returns undefined if it is not JSON. Throws `server.invalid-request` if it is nested too
 * deeply, because checking, copying and printing such a value would exceed the stack.
 */
export function readJson(text: string): unknown {
  const value = tryParseJson<unknown>(text);
  // A level has two brackets, so that a short text needs no look.
  if (text.length > 2 * maxDepth && isDeeper(value, maxDepth)) throw nestedTooDeeply();
  return value;
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  for (const item of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(item, depth - 1)) return true;
  return false;
}

function nestedTooDeeply(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The message has more than ${maxDepth} lists and objects in each other.`,
    hint: "Send a flatter value, or a text that contains it.",
  });
}
