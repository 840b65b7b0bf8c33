import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { replaceFile } from "../../../src/core/files/replace-file.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

it("replaces a file, and leaves no other file", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "file");
  for (const text of ["one", "two", ""]) {
    await replaceFile(path, text);
    expect(await readFile(path, "utf8")).toBe(text);
  }
  expect(await readdir(folder)).toEqual(["file"]);
});

it.runIf(process.platform === "linux")("keeps the existing file if the disk is full", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "file");
  await writeFile(path, "before");
  await symlink("/dev/full", `${path}.tmp`);
  await expect(replaceFile(path, "after", { code: "report.write-failed" })).rejects.toMatchObject({
    code: "report.write-failed",
    message: `${path} could not be written: the disk is full (ENOSPC).`,
    hint: "Free some space.",
    data: { path, code: "ENOSPC" },
  });
  expect(await readFile(path, "utf8")).toBe("before");
  expect(await readdir(folder)).toEqual(["file"]);
});

it("reports the path, the reason and a remedy", async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, "plain"), "");
  await mkdir(join(folder, "taken"));
  for (const [name, code] of [
    ["missing/file", "ENOENT"],
    ["plain/file", "ENOTDIR"],
  ] as const) {
    await expect(replaceFile(join(folder, name), "")).rejects.toMatchObject({
      code: "trace.write-failed",
      message: expect.stringMatching(new RegExp(`${name} could not be written: .*\\(${code}\\)\\.$`)),
      hint: expect.stringMatching(/^Name /),
      data: { path: join(folder, name), code },
    });
  }
  await expect(replaceFile(join(folder, "taken"), "")).rejects.toMatchObject({ code: "trace.write-failed" });
  expect((await readdir(folder)).toSorted()).toEqual(["plain", "taken"]);
});
