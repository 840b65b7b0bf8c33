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
    const inner = error instanceof AggregateError && error.message === "" ? error.errors : [];
    const aborted = error.name === "AbortError";
    const timedOut = error.name === "TimeoutError";
    return {
      name: error.name,
      code: aborted ? "aborted" : timedOut ? "timeout" : fallbackCode,
      message: inner.length === 0 ? error.message : inner.map((each) => toErrorData(each).message).join("; "),
    };
  }
  return { name: "Error", code: fallbackCode, message: textOfThrown(error) };
}

/** The most characters that a thrown object is written with. */
const maxCharacters = 300;

/** Any value can be thrown. An object without a text of its own and a message is written as JSON. */
function textOfThrown(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const tag = Object.prototype.toString.call(thrown);
  try {
    if (Array.isArray(thrown)) return thrown.map(textOfThrown).join(", ");
    if (typeof thrown.toString === "function" && thrown.toString !== Object.prototype.toString) return String(thrown);
    if ("message" in thrown && typeof thrown.message === "string" && thrown.message !== "") return thrown.message;
    // Objects in it, such as the headers of a request, may hold secrets.
    const fields = Object.entries(thrown).filter(
      ([name, value]) =>
        typeof value !== "object" && !/(?:auth|authorization|cookie|key|password|secret|token)$/i.test(name),
    );
    const shown = fields.map(([name, value]) => [name, typeof value === "bigint" ? String(value) : value] as const);
    const json = JSON.stringify(Object.fromEntries(shown));
    return json === "{}" ? tag : json.slice(0, maxCharacters);
  } catch {
    return tag;
  }
}

/** Creates an error from its data. It lacks the stack and the cause of the original. */
export function fromErrorData(data: ErrorData): LyceumError {
  return new LyceumError(data);
}
