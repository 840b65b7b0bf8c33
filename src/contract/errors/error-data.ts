import { type ErrorCode, type ErrorData, LyceumError } from "./lyceum-error.ts";

/**
 * Converts a thrown value to {@link ErrorData}. An abort gets the code `aborted` and a timeout `timeout`. All other
 * values that are not Lyceum errors get `fallbackCode`.
 */
export function toErrorData(error: unknown, fallbackCode: ErrorCode = "internal"): ErrorData {
  try {
    return readError(error, fallbackCode);
  } catch {
    // The thrown value has a getter or a method that throws too.
    return { name: "Error", code: fallbackCode, message: "an error whose message cannot be read" };
  }
}

function readError(error: unknown, fallbackCode: ErrorCode): ErrorData {
  if (LyceumError.isInstance(error)) return error.toData();
  if (error instanceof Error) {
    const aborted = error.name === "AbortError";
    const timedOut = error.name === "TimeoutError";
    return {
      name: error.name,
      code: aborted ? "aborted" : timedOut ? "timeout" : fallbackCode,
      message: error.message,
    };
  }
  return { name: "Error", code: fallbackCode, message: textOfThrown(error) };
}

/** Any value can be thrown. An object without a message and a text of its own is written as JSON. */
function textOfThrown(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  if ("message" in thrown && typeof thrown.message === "string") return thrown.message;
  const tag = Object.prototype.toString.call(thrown);
  try {
    const hasText = typeof thrown.toString === "function" && thrown.toString !== Object.prototype.toString;
    return hasText ? String(thrown) : (JSON.stringify(thrown) ?? tag);
  } catch {
    return tag;
  }
}

/** Creates an error from its data. It lacks the stack and the cause of the original. */
export function fromErrorData(data: ErrorData): LyceumError {
  return new LyceumError(data);
}
