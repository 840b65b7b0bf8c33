import { LyceumError } from "./lyceum-error.ts";

/** The codes of errors that an input of the calling code can cause. */
const ownCodes: readonly string[] = [
  "environment.contract",
  "environment.failed",
  "sandbox.request",
  "config.invalid",
  "config.unknown-name",
  "data.malformed",
  "data.out-of-range",
];
const longestChain = 8;

/**
 * True if an error or one of its causes is external to the code that threw it: from a server, a file system, a process,
 * a timeout or an abort. Such an error can repeat and does not depend on the input of the code.
 */
export function isOutsideError(error: unknown): boolean {
  let each = error;
  for (let depth = 0; depth < longestChain && each instanceof Error; depth++) {
    if (LyceumError.isInstance(each)) {
      if (!ownCodes.includes(each.code)) return true;
    } else if (isOfSystem(each)) return true;
    each = each.cause;
  }
  return false;
}

/**
 * True for errors of the operating system, of Node's network clients and of the AI SDK. Node's errors for invalid
 * arguments begin with ERR_ and do not match.
 */
function isOfSystem(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^(?:E[A-Z0-9]+|UND_ERR_\w+)$/.test(code)) return true;
  if (["AbortError", "TimeoutError"].includes(error.name) || error.name.startsWith("AI_")) return true;
  return error instanceof TypeError && error.message === "fetch failed";
}
