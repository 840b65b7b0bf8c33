import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { replaceFolder } from "../../../trainers/checkpoint/replace-folder.ts";
import { exportModel } from "../../../trainers/models/export-model.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { createBigramBackend } from "../bigram-backend.ts";

const renames = vi.hoisted(() => ({ fail: (_from: string, _to: string): void => undefined }));
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const rename: typeof real.rename = async (from, to) => {
    renames.fail(String(from), String(to));
    await real.rename(from, to);
  };
  return { ...real, rename };
});

async function folders(): Promise<{ readonly parent: string; readonly old: string; readonly next: string }> {
  const parent = temporaryFolder();
  onTestFinished(() => {
    renames.fail = () => undefined;
  });
  const [old, next] = [join(parent, "model"), join(parent, "model.partial")];
  for (const folder of [old, next]) await mkdir(folder);
  await writeFile(join(old, "weights"), "old");
  await writeFile(join(next, "weights"), "next");
  return { parent, old, next };
}

it("replaces a folder, or creates it", async () => {
  const { parent, old, next } = await folders();
  await replaceFolder(next, old);
  expect(await readFile(join(old, "weights"), "utf8")).toBe("next");
  await replaceFolder(old, join(parent, "elsewhere"));
  expect(await readdir(parent)).toEqual(["elsewhere"]);
});

it("keeps both folders complete at every rename, and restores the old one after an error", async () => {
  const { parent, old, next } = await folders();
  const seen: string[][] = [];
  renames.fail = (from, to) => {
    if (from === next) {
      seen.push([from, to]);
      throw Object.assign(new Error("EIO: rename"), { code: "EIO" });
    }
  };
  await expect(replaceFolder(next, old)).rejects.toThrow("EIO");
  expect(seen).toHaveLength(1);
  expect(await readFile(join(old, "weights"), "utf8")).toBe("old");
  expect((await readdir(parent)).toSorted()).toEqual(["model", "model.partial"]);
});

it("a failed export keeps the previous one", async () => {
  const { parent, old, next } = await folders();
  const model = await createBigramBackend().openModel({
    source: { type: "scratch", config: {}, seed: 0 },
    trainable: { type: "full" },
  });
  model.export = async (path) => {
    await mkdir(path);
    await writeFile(join(path, "weights"), "new");
  };
  renames.fail = (from) => {
    if (from === next) throw Object.assign(new Error("ENOSPC: rename"), { code: "ENOSPC" });
  };
  await expect(exportModel({ model, folder: old, format: "huggingface" })).rejects.toMatchObject({
    code: "checkpoint.write-failed",
    message: expect.stringContaining("the disk is full (ENOSPC)"),
    data: { folder: old, code: "ENOSPC" },
  });
  expect(await readFile(join(old, "weights"), "utf8")).toBe("old");
  expect(await readdir(parent)).toEqual(["model"]);
  renames.fail = () => undefined;
  await exportModel({ model, folder: old, format: "huggingface" });
  expect(await readFile(join(old, "weights"), "utf8")).toBe("new");
});
