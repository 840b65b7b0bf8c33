import { link, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { array, assert, asyncProperty, constantFrom, string } from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toolsEnvironment } from "../../../environments/index.ts";
import { EpisodeFolder } from "../../../environments/tools/episode-folder.ts";
import { answerText } from "../../../environments/tools/tools-task.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { callText, play, replyOf } from "./play.ts";

let outside: string;

beforeEach(async () => {
  outside = temporaryFolder();
  await mkdir(join(outside, "tmp"));
  await writeFile(join(outside, "secret"), "secret");
  vi.stubEnv("TMPDIR", join(outside, "tmp"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
});

/** Returns the location of the folder, and every file under `outside` that is not in it. */
async function rootOf(folder: EpisodeFolder): Promise<string> {
  await folder.list();
  return join(outside, "tmp", (await readdir(join(outside, "tmp")))[0]!);
}

test("writes, reads and lists files", async () => {
  await using folder = new EpisodeFolder();
  await folder.write("a.txt", "one");
  await folder.write("a.txt", "zwölf");
  await folder.write("deep/er/b.txt", "");
  expect(await folder.read("./a.txt")).toBe("zwölf");
  expect(await folder.list()).toEqual([
    { path: "a.txt", bytes: 6 },
    { path: "deep/er/b.txt", bytes: 0 },
  ]);
  await expect(folder.read("deep")).rejects.toThrow(/is a folder/);
  await expect(folder.write("deep", "")).rejects.toThrow(/is a folder/);
  await expect(folder.write("a.txt/b", "")).rejects.toThrow(/not a plain file or folder/);
  await expect(folder.read("c")).rejects.toThrow(/no file "c"\. Files: a\.txt/);
});

test("no path leads outside", async () => {
  await using folder = new EpisodeFolder();
  const root = await rootOf(folder);
  const parts = constantFrom(
    "..",
    ".",
    "",
    "~",
    "a",
    "tmp",
    "secret",
    "\\",
    "..\\..",
    "%2e%2e",
    "\0",
    outside,
    root,
    `${root}X`,
    "．．",
    "C:",
  );
  const paths = array(parts, { maxLength: 7 }).map((names) => names.join("/"));
  const stays = async (path: string): Promise<void> => {
    await folder.write(path, "written").catch(({ message }: Error) => {
      expect(message.replaceAll(path.slice(0, 100), "")).not.toContain(root.slice(-6));
    });
    expect(await folder.read(path).catch(() => "")).not.toContain("secret");
    expect(await readFile(join(outside, "secret"), "utf8")).toBe("secret");
    expect((await readdir(outside)).toSorted()).toEqual(["secret", "tmp"]);
    expect(await readdir(join(outside, "tmp"))).toHaveLength(1);
  };
  await assert(asyncProperty(paths, stays), { numRuns: 500 });
  await assert(asyncProperty(string({ maxLength: 40 }), stays), { numRuns: 500 });
});

test("no link is followed, symbolic or hard, of a file or of a parent folder", async () => {
  await using folder = new EpisodeFolder();
  const root = await rootOf(folder);
  await symlink(join(outside, "secret"), join(root, "file-link"));
  await symlink(outside, join(root, "folder-link"));
  await symlink(join(outside, "new"), join(root, "dangling"));
  await link(join(outside, "secret"), join(root, "hard"));
  for (const path of ["file-link", "folder-link/secret", "hard", "dangling"]) {
    await expect(folder.read(path)).rejects.toThrow();
    await expect(folder.write(path, "x")).rejects.toThrow();
  }
  await expect(folder.write("folder-link/new", "x")).rejects.toThrow();
  expect(await folder.list()).not.toContainEqual(expect.objectContaining({ path: expect.stringContaining("secret") }));
  expect(await readFile(join(outside, "secret"), "utf8")).toBe("secret");
  expect((await readdir(outside)).toSorted()).toEqual(["secret", "tmp"]);
});

test("sizes and counts are limited", async () => {
  await using folder = new EpisodeFolder();
  await expect(folder.write("big", "ä".repeat(32_769))).rejects.toThrow(/at most 65536 bytes/);
  for (let i = 0; i < 64; i++) await folder.write(`f${i}`, "");
  await expect(folder.write("f64", "")).rejects.toThrow(/at most 64 files/);
  await folder.write("f63", "again");
  await expect(folder.write("a/b/c/d/e", "")).rejects.toThrow(/is not an allowed path/);
});

test("each episode has its own folder, which is removed at its end, at the next reset, and when the instance closes", async () => {
  const environment = toolsEnvironment();
  const folders = async (): Promise<string[]> => readdir(join(outside, "tmp"));
  const task = { question: "?", answer: "1", tools: [], files: { "in.txt": "given" } };
  const write = callText("write_file", { path: "out.txt", content: "x" });
  const list = callText("list_files", {});
  const action = (text: string) => ({
    agent: { message: { role: "assistant", content: [{ type: "text", text }] }, finish: "stop" } as const,
  });
  const instance = await environment.create();
  await instance.reset({ task, seed: 0 });
  await instance.step(action(write));
  expect(await folders()).toHaveLength(1);
  await instance.reset({ task, seed: 0 });
  const listed = await instance.step(action(list));
  expect(replyOf(listed)).toContain("in.txt (5 bytes)");
  expect(replyOf(listed)).not.toContain("out.txt");
  expect(await folders()).toHaveLength(1);
  await instance.step(action(answerText("1")));
  expect(await folders()).toEqual([]);
  await instance.reset({ task, seed: 0 });
  await instance.close();
  expect(await folders()).toEqual([]);
  const [result] = await play(environment, task, [callText("read_file", { path: `${dirname(outside)}/passwd` })]);
  expect(replyOf(result)).toMatch(/Error: .* is not an allowed path/);
});
