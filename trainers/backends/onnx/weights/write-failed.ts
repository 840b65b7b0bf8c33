import { isSystemError, writeFailed } from "../../../../src/contract/errors/write-failed.ts";

/**
 * Returns the error for a file or folder that could not be written: `checkpoint.write-failed` for system errors.
 * Returns other errors (an abort, a wrong argument) unchanged.
 */
export function weightsWriteFailed(path: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  return writeFailed({ path, cause: error, code: "checkpoint.write-failed", hint: "Nothing half-written was left." });
}
