import { execFileSync } from "node:child_process";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "../../../src/core/files/make-folder.ts";
import { mountDisk } from "../../cli/small-disk.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

it("makes what is missing, and says what it made first", async () => {
  const folder = temporaryFolder();
  expect(await makeFolder(join(folder, "a/b/c"))).toBe(join(folder, "a"));
  expect((await stat(join(folder, "a/b/c"))).isDirectory()).toBe(true);
  expect(await makeFolder(join(folder, "a/b/c"))).toBeUndefined();
});

it("rejects with the system's reason: a file in the way", async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, "a"), "");
  await expect(makeFolder(join(folder, "a/b/c"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

it("rejects with the system's reason: a disk that is read-only", async (context) => {
  const folder = temporaryFolder();
  const disk = await mountDisk(folder, context);
  execFileSync("mount", ["-o", "remount,ro", disk], { stdio: "pipe" });
  for (const path of ["a", "a/b/c"]) {
    await expect(makeFolder(join(disk, path)), path).rejects.toMatchObject({ code: "EROFS" });
  }
});
