import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type TarEntry, tarArchive } from "../../../src/core/files/tar-archive.ts";

/** Returns a tar archive of the files of a folder and an empty `checkpoint_complete`. */
export function tarOfFolder(folder: string): Readable {
  return tarArchive(folderFiles(folder));
}

async function* folderFiles(folder: string): AsyncGenerator<TarEntry> {
  const file = { mode: 0o644, kind: "file" } as const;
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  for (const name of names.toSorted()) {
    const path = join(folder, name);
    yield { ...file, path: name, size: (await stat(path)).size, content: createReadStream(path) };
  }
  yield { ...file, path: "checkpoint_complete", size: 0, content: [] };
}
