import { type ErrorCode, type ErrorData, LyceumError } from "./lyceum-error.ts";

/**
 * Converts a thrown value to {@link ErrorData}. An abort gets the code `aborted` and a timeout `timeout`. All other
 * values that are not Lyceum errors get `fallbackCode`.
 */
export function toErrorData(error: unknown, fallbackCode: ErrorCode = "internal"): ErrorData {
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

/** Any value can be thrown, even one that `String` throws for. */
function textOfThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

/** Creates an error from its data. It lacks the stack and the cause of the original. */
export function fromErrorData(data: ErrorData): LyceumError {
  return new LyceumError(data);
}
