import { execFileSync } from "node:child_process";
import { lstat, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { type TarEntry, tarArchive } from "../../../src/core/files/tar-archive.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const file = (path: string, size: number, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): TarEntry => ({
  ...{ path, size, content },
  mode: 0o640,
  kind: "file",
});

it("writes files, folders and links, with long and foreign names, that tar reads", async () => {
  const folder = temporaryFolder();
  const long = `a/${"b".repeat(120)}`;
  const entries: TarEntry[] = [
    { path: "a", mode: 0o755, kind: "folder" },
    file(long, 3, [Buffer.from("abc")]),
    file("é", 0, []),
    { path: "link", mode: 0o777, kind: "link", target: long },
  ];
  const archive = await buffer(tarArchive(entries));
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  expect(await readFile(join(folder, long), "utf8")).toBe("abc");
  expect((await lstat(join(folder, long))).mode & 0o777).toBe(0o640);
  expect(await readFile(join(folder, "é"), "utf8")).toBe("");
  expect(await readlink(join(folder, "link"))).toBe(long);
  expect(execFileSync("tar", ["-tv", "--numeric-owner"], { input: archive, encoding: "utf8" })).toMatch(/ 0\/0 /);
  expect(await buffer(tarArchive(entries))).toEqual(archive);
});

it("gives a file the size of its header if it grows or shrinks meanwhile", async () => {
  const entries = [file("grown", 4, [Buffer.from("abc"), Buffer.from("def")]), file("shrunk", 600, [Buffer.from("x")])];
  const archive = await buffer(tarArchive(entries));
  const read = (name: string) => execFileSync("tar", ["-xO", name], { input: archive, encoding: "latin1" });
  expect(read("grown")).toBe("abcd");
  expect(read("shrunk")).toBe(`x${"\0".repeat(599)}`);
});

it("fails with the error of a file, and closes a file if its reader stops", async () => {
  const broken = async function* () {
    yield Buffer.from("a");
    throw new Error("unreadable");
  };
  await expect(buffer(tarArchive([file("broken", 2, broken())]))).rejects.toThrow("unreadable");
  const closed = Promise.withResolvers<void>();
  const endless = async function* () {
    try {
      for (;;) yield Buffer.alloc(65_536);
    } finally {
      closed.resolve();
    }
  };
  for await (const part of tarArchive([file("endless", 2 ** 40, endless())])) {
    if (part.length > 512) break;
  }
  await closed.promise;
});
