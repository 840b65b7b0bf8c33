/** True where a write failed for want of space. */
export function isDiskFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** Why a write failed, in words. */
export function writeFailureReason(error: unknown): string {
  if (isDiskFull(error)) return "the disk is full";
  return error instanceof Error ? error.message : String(error);
}
