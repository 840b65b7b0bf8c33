import { LyceumError } from "../../contract/errors/index.ts";
import { nearPath } from "../files/missing-path.ts";

/** Creates the error for a data file that could not be opened or decoded. Returns a Lyceum error unchanged. */
export function dataFileError(path: string, error: unknown): LyceumError {
  if (LyceumError.isInstance(error)) return error;
  const code = (error as { readonly code?: string } | null)?.code;
  const missing = code === "ENOENT" || code === "ENOTDIR";
  if (missing || code === "EACCES" || code === "EISDIR" || code === "EPERM") {
    return new LyceumError({
      code: "data.not-found",
      message: missing ? `There is no file ${path}.` : `The file ${path} cannot be read (${code}).`,
      hint: `${missing ? nearPath(path) : ""}Check the path. Relative paths start at the current folder.`,
      data: { path },
      cause: error,
    });
  }
  return new LyceumError({
    code: "data.malformed",
    message: `The file ${path} cannot be decoded: ${error instanceof Error ? error.message : String(error)}.`,
    hint: "Check that the file is complete and has the format that its name says.",
    data: { path },
    cause: error,
  });
}
