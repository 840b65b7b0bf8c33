import { isSystemError, writeFailed } from "../../../../src/contract/errors/write-failed.ts";

/**
 * The error of a file or folder that could not be written: `checkpoint.write-failed` for what the system refused.
 * Anything else (an abort, a wrong argument) is returned as it is.
 */
export function weightsWriteFailed(path: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  return writeFailed({ path, cause: error, code: "checkpoint.write-failed", hint: "Nothing half-written was left." });
}
