import { LyceumError } from "../../../../src/errors/lyceum-error.ts";

/**
 * The error of a file or folder that could not be written: `checkpoint.write-failed` for what the system refused.
 * Anything else (an abort, a wrong argument) is returned as it is.
 */
export function writeFailed(target: string, error: unknown): unknown {
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  return new LyceumError({
    code: "checkpoint.write-failed",
    message: `${target} could not be written: ${isFull ? "there is no space for it" : error.message}.`,
    hint: isFull
      ? "Free some space, or write to another disk. Nothing half-written was left."
      : "Write to a folder that exists and is yours. Nothing half-written was left.",
    data: { path: target, ...(code === undefined ? {} : { code }) },
    cause: error,
  });
}
