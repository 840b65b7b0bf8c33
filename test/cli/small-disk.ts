import { execFileSync } from "node:child_process";
import { mkdir, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished, type TestContext } from "vitest";

/** Mounts a disk of 4 MB at `disk` in a folder until the test ends, or skips the test if this machine cannot. */
export async function mountDisk(folder: string, context: TestContext): Promise<string> {
  const disk = join(folder, "disk");
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    context.skip("mounting a small disk needs root on Linux");
  await mkdir(disk);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], { stdio: "pipe" });
  } catch (error) {
    context.skip(`no small disk can be mounted here: ${error instanceof Error ? error.message : String(error)}`);
  }
  onTestFinished(() => {
    execFileSync("umount", ["--lazy", disk]);
  });
  return disk;
}

/** Fills a disk with a file `filler`, except for a number of bytes. */
export async function fillDisk(disk: string, left: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  await writeFile(join(disk, "filler"), new Uint8Array(Math.max(0, bavail * bsize - left)));
}
