import { LyceumError } from "./lyceum-error.ts";

/** Codes of errors that the input of the code at hand can cause. */
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
 * Whether an error tells of something outside the code that met it: a server, a file system, a process, time that ran
 * out, a stop. Such an error may come again and again, and says nothing of the code's input.
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

/** Errors of the operating system, of Node's network clients and of the AI SDK; those of arguments begin with ERR_. */
function isOfSystem(error: Error): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^(?:E[A-Z0-9]+|UND_ERR_\w+)$/.test(code)) return true;
  if (["AbortError", "TimeoutError"].includes(error.name) || error.name.startsWith("AI_")) return true;
  return error instanceof TypeError && error.message === "fetch failed";
}
