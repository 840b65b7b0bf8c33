import { type ErrorCode, type ErrorData, LyceumError } from "./lyceum-error.ts";

/** Any thrown value as {@link ErrorData}; what is no Lyceum error gets `fallbackCode`. */
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

/** Anything can be thrown, even what `String` refuses; an error path must not throw itself. */
function textOfThrown(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

/** The error that {@link toErrorData} came from, as near as data allows. */
export function fromErrorData(data: ErrorData): LyceumError {
  return new LyceumError(data);
}
