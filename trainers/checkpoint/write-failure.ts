import { LyceumError } from "../../src/errors/index.ts";

/** True where a write failed for want of space, here or in the backend. */
export function isDiskFull(error: unknown): boolean {
  const code = systemCode(error);
  return code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
}

/** Why a write failed, in words, without a full stop. */
export function writeFailureReason(error: unknown): string {
  if (isDiskFull(error)) return "the disk is full";
  return (error instanceof Error ? error.message : String(error)).replace(/\.+$/, "");
}

/** True for an error that says what is wrong itself: something else than the write failed. */
export function isOtherFailure(error: unknown): boolean {
  return LyceumError.isInstance(error) && error.code !== "checkpoint.write-failed";
}

/** The system's code, such as `ENOSPC`. An error that crossed a thread has it in its data. */
function systemCode(error: unknown): unknown {
  const holder: unknown = LyceumError.isInstance(error) ? error.data : error;
  return typeof holder === "object" && holder !== null && "code" in holder ? holder.code : undefined;
}
