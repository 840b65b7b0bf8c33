import { type ErrorCode, LyceumError } from "./lyceum-error.ts";

/** The reason of a failed write, and the remedy. */
export interface WriteFailure {
  /** The error code of the operating system, such as `ENOSPC`. Undefined if the error has another source. */
  readonly code: string | undefined;
  /** A phrase without a full stop, such as `the disk is full (ENOSPC)`. */
  readonly reason: string;
  /** What to do, in one or more sentences. */
  readonly remedy: string;
}

const known: Readonly<Record<string, readonly [reason: string, remedy: string]>> = {
  ENOSPC: ["the disk is full", "Free some space."],
  EDQUOT: ["the disk quota is used up", "Free some space."],
  EFBIG: ["the file is larger than the limit", "Raise the limit (ulimit -f), or write to another disk."],
  EACCES: ["permission is denied", "Give yourself write permission, or choose another folder."],
  EPERM: ["the operation is not permitted", "Give yourself write permission, or choose another folder."],
  EROFS: ["the file system is read-only", "Name a folder on a disk that can be written."],
  ENOENT: ["its folder does not exist, or cannot be created", "Name a folder that exists or can be created."],
  ENOTDIR: ["a file exists where a folder is needed", "Name another folder, or move that file out of the way."],
  EEXIST: ["a file or folder with that name exists", "Choose another name, or move it away."],
  EISDIR: ["a folder with that name exists", "Choose another file name, or move that folder away."],
  EMFILE: ["this process has too many open files", "Raise the limit of open files (ulimit -n)."],
  EIO: ["the disk reports an error", "Check the disk, or write to another one."],
};

/** Returns the reason and the remedy of a failed write. Errors from other threads have the system's code in `data`. */
export function writeFailure(error: unknown): WriteFailure {
  const code = systemCode(error);
  const found = code === undefined ? undefined : known[code];
  const message = error instanceof Error ? error.message : String(error);
  const [reason, remedy] = found ?? [
    message.replace(/\.+$/, ""),
    "Check that the folder exists and can be written to.",
  ];
  return { code, reason: found === undefined ? reason : `${reason} (${code})`, remedy };
}

/** True if an error is from the operating system, such as `ENOSPC: no space left on device, write`. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

/** True if a write failed because of a full disk, a quota or a file size limit. */
export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EFBIG"].includes(systemCode(error) ?? "");
}

/**
 * Creates the error for a file or folder that could not be written, with its path and the system's code. `code` is
 * `trace.write-failed` by default. Returns `cause` unchanged if it is a Lyceum error.
 */
export function writeFailed(options: {
  readonly path: string;
  readonly cause: unknown;
  readonly code?: ErrorCode;
  /** The subject of the message, such as `The trace runs/a/trace.jsonl`. The path by default. */
  readonly what?: string;
  /** One or more sentences that are added to the remedy. */
  readonly hint?: string;
}): LyceumError {
  const { path, cause, code = "trace.write-failed", what = path, hint } = options;
  if (LyceumError.isInstance(cause)) return cause;
  const failure = writeFailure(cause);
  return new LyceumError({
    code,
    message: `${what} could not be written: ${failure.reason}.`,
    hint: hint === undefined ? failure.remedy : `${failure.remedy} ${hint}`,
    data: { path, ...(failure.code === undefined ? {} : { code: failure.code }) },
    cause,
  });
}

function systemCode(error: unknown): string | undefined {
  const source: unknown = LyceumError.isInstance(error) ? error.data : error;
  if (typeof source !== "object" || source === null || !("code" in source)) return undefined;
  return typeof source.code === "string" ? source.code : undefined;
}
