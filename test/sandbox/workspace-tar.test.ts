import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { firstFile } from "../../sandbox/docker/workspace/tar.ts";
import { type TarEntry, tarArchive } from "../../src/core/files/tar-archive.ts";

const abc: TarEntry = { path: "abc", mode: 0o644, kind: "file", size: 3, content: [Buffer.from("abc")] };

it("reads the first entry of an archive if it is a file within the limit", async () => {
  expect(await firstFile(tarArchive([abc]), 3)).toEqual(Buffer.from("abc"));
  expect(await firstFile(tarArchive([{ ...abc, path: "é".repeat(200) }]), 3)).toEqual(Buffer.from("abc"));
  expect(await firstFile(tarArchive([{ ...abc, size: 0, content: [] }]), 3)).toEqual(Buffer.alloc(0));
  expect(await firstFile(tarArchive([abc]), 2)).toBe("too-large");
  const link: TarEntry = { path: "link", mode: 0o777, kind: "link", target: "/etc/passwd" };
  expect(await firstFile(tarArchive([link, abc]), 3)).toBeUndefined();
  expect(await firstFile(tarArchive([{ path: "folder", mode: 0o755, kind: "folder" }, abc]), 3)).toBeUndefined();
  expect(await firstFile(tarArchive([]), 3)).toBeUndefined();
});

it("refuses an archive that is cut off or no archive", async () => {
  const archive = await buffer(tarArchive([abc]));
  for (const length of [100, 514]) {
    await expect(firstFile(Readable.from([archive.subarray(0, length)]), 3)).rejects.toThrow("Unexpected end of data");
  }
  await expect(firstFile(Readable.from([Buffer.alloc(1024, "x")]), 3)).rejects.toThrow(/Invalid tar header/);
});

it("reads no further than the first entry, and fails with its source", async () => {
  let stopped = false;
  const source = async function* () {
    try {
      yield (await buffer(tarArchive([abc]))).subarray(0, 1024);
      for (;;) yield Buffer.alloc(512, "x");
    } finally {
      stopped = true;
    }
  };
  const endless = Readable.from(source());
  expect(await firstFile(endless, 3)).toEqual(Buffer.from("abc"));
  await expect.poll(() => stopped && endless.destroyed).toBe(true);
  const broken = new Readable({ read: () => broken.destroy(new Error("the connection ended")) });
  await expect(firstFile(broken, 3)).rejects.toThrow("the connection ended");
});
