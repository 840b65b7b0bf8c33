import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { extract } from "tar-stream";
import { LyceumError } from "../../../src/contract/errors/index.ts";

/**
 * Reads the plain files of a tar archive by their base name. Folders and links are left out. Rejects with
 * `backend.failed` if the archive is damaged or cut off.
 */
export async function readTar(archive: Uint8Array): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const entries = Readable.from([archive]).pipe(extract());
  try {
    for await (const entry of entries) {
      const content = await buffer(entry);
      if (entry.header.type === "file") files.set(entry.header.name.split("/").at(-1)!, content);
    }
  } catch (cause) {
    throw new LyceumError({
      code: "backend.failed",
      message: "The archive of the weights from the server is damaged.",
      hint: "Export the model again.",
      cause,
    });
  }
  return files;
}
