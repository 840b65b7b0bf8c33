import { readdir } from "node:fs/promises";
import { LyceumError } from "../src/contract/errors/index.ts";

/** Throws `config.invalid` if the folder is not empty, because old files would be mixed with new ones. */
export async function refuseFullFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? [] : [error.code],
  );
  if (names.length === 0) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${folder} exists already, and an export needs a new folder.`,
    hint: "Choose another folder, or move this one away.",
    data: { folder },
  });
}
