import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { complete, expectTidy, expectTyped, faultsFolder, type JobName, jobsIn } from "./file-faults.ts";
import { folderContents, lyceum } from "./run-lyceum.ts";
import { mountDisk } from "./small-disk.ts";

/** A folder `disk` in another one. Writing to it can be forbidden and allowed again. */
interface Forbidding {
  /** The user who runs the commands. The user of this process by default. */
  readonly user?: number;
  readonly forbid: () => Promise<void>;
  readonly allow: () => Promise<void>;
}

const nobody = 65_534;

const kinds: Readonly<Record<"EACCES" | "EROFS", (folder: string, context: TestContext) => Promise<Forbidding>>> = {
  EROFS: async (folder, context) => {
    const disk = await mountDisk(folder, context);
    const remount = async (how: string): Promise<void> => {
      execFileSync("mount", ["-o", `remount,${how}`, disk], { stdio: "pipe" });
    };
    return { forbid: () => remount("ro"), allow: () => remount("rw") };
  },
  EACCES: async (folder, context) => {
    const disk = join(folder, "disk");
    await mkdir(disk);
    const setModes = async (file: number, directory: number): Promise<void> => {
      const entries = await readdir(disk, { recursive: true, withFileTypes: true });
      for (const entry of entries) {
        await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? directory : file);
      }
      await chmod(disk, directory);
    };
    const modes = { forbid: () => setModes(0o444, 0o555), allow: () => setModes(0o644, 0o755) };
    if (process.getuid?.() !== 0) return modes;
    // Nothing is forbidden to root.
    await chmod(folder, 0o755);
    await chown(disk, nobody, nobody);
    const { code, stderr } = await lyceum(["--version"], { folder, user: nobody });
    if (code !== 0) context.skip(`the user ${nobody} cannot run this checkout: ${stderr.trim()}`);
    return { ...modes, user: nobody };
  },
};

const jobs = ["train", "eval", "collect", "export"] as const satisfies readonly JobName[];

it.for(
  jobs.flatMap((name) => (["EACCES", "EROFS"] as const).map((code) => [name, code] as const)),
)("%s reports %s with the path, changes nothing, and gives the same result when it may write again", async ([
  name,
  code,
], context) => {
  const folder = await faultsFolder();
  const { forbid, allow, user } = await kinds[code](folder, context);
  const options = { folder, ...(user === undefined ? {} : { user, variables: { HOME: join(folder, "disk") } }) };
  const disk = join(folder, "disk");
  const job = jobsIn(folder)[name];
  expect(await lyceum(job.words("disk/straight"), options)).toMatchObject({ code: 0 });
  const refuse = async (words: readonly string[]): Promise<void> => {
    await forbid();
    try {
      const before = await folderContents(disk);
      const refused = await lyceum(words, options);
      expectTyped(refused);
      expect(refused.stderr).toMatch(/^error\[(trace|checkpoint)\.write-failed\]: /);
      const path = name === "collect" ? "disk" : "disk/out";
      expect(refused.stderr).toMatch(new RegExp(` ${path}\\b.*\\(${code}\\)\\.\n`));
      expect(await folderContents(disk)).toEqual(before);
    } finally {
      await allow();
    }
  };
  // A new output, then one that a killed command has left.
  await refuse(job.words("disk/out"));
  if (job.begun !== undefined) {
    const begun = job.begun("disk/out");
    await lyceum(job.words("disk/out"), {
      ...options,
      onOutput: (text, child) => {
        if (text !== "") return;
        const timer = setInterval(() => existsSync(begun) && child.kill("SIGKILL"), 1);
        child.once("exit", () => clearInterval(timer));
      },
    });
    await refuse([...job.words("disk/out"), ...job.goOn]);
  }
  expect(await complete(job, "disk/out", options)).toMatchObject({ code: 0 });
  expect(await job.result("disk/out")).toEqual(await job.result("disk/straight"));
  await expectTidy(disk, "out");
});
