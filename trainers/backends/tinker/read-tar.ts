import { LyceumError } from "../../../src/contract/errors/index.ts";

const block = 512;

/**
 * Reads the plain files of a tar archive (POSIX.1-1988 ustar) by their base name. Folders and links are left out. Throws
 * `backend.failed` if the archive is cut off.
 */
export function readTar(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; at + block <= archive.length; ) {
    const name = textAt(archive, at, 100);
    if (name === "") break;
    const size = Number.parseInt(textAt(archive, at + 124, 12).trim(), 8);
    const kind = textAt(archive, at + 156, 1);
    const start = at + block;
    if (!Number.isInteger(size) || start + size > archive.length) throw damaged();
    if (kind === "" || kind === "0") files.set(name.split("/").at(-1)!, archive.subarray(start, start + size));
    at = start + Math.ceil(size / block) * block;
  }
  return files;
}

/** Reads text up to the first zero byte. */
function textAt(archive: Buffer, start: number, length: number): string {
  const field = archive.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end === -1 ? length : end);
}

function damaged(): LyceumError {
  return new LyceumError({
    code: "backend.failed",
    message: "The archive of the weights from the server is damaged.",
    hint: "Export the model again.",
  });
}
