import { copyFile, mkdir, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ExportFormat, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { loadBase } from "../../trainers/backends/onnx/engine/base-store.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { exportModel } from "../../trainers/models/export-model.ts";
import { openModels } from "../../trainers/models/open-models.ts";
import { tinyConfig } from "../backends/onnx/tiny-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const checksums = "lyceum_checksums.json";
/** A whole model, and an adapter with its base in a subfolder. */
const formats: readonly ExportFormat[] = ["huggingface", "peft"];

let backend: TrainingBackend;
const folders = {} as Record<ExportFormat, string>;
const scratch = new AsyncDisposableStack();

beforeAll(async () => {
  backend = scratch.use(await createOnnxBackend({ device: "cpu", threads: 1 }));
  const parent = temporaryFolder();
  const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
  const model = await backend.openModel({ source, trainable: { type: "lora", lora: { rank: 2, alpha: 4 } } });
  for (const format of formats) {
    folders[format] = path.join(parent, format);
    await exportModel({ model, folder: folders[format], format });
  }
});
afterAll(() => scratch.disposeAsync());

async function opens(folder: string): Promise<void> {
  for (const { model } of await openModels(folder, { backend })) await model.close();
}

/** Calls `use` with all files of a folder that have a checksum, and puts the changed ones back. */
async function withFiles(folder: string, use: (files: readonly string[]) => Promise<void>): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((file) => file.isFile() && file.name !== checksums);
  const paths = files.map(({ parentPath, name }) => path.join(parentPath, name));
  const before = await Promise.all(paths.map((file) => readFile(file)));
  try {
    await use(paths);
  } finally {
    for (const [i, file] of paths.entries()) await writeFile(file, before[i]!);
  }
}

async function flipBit(file: string, place: number): Promise<void> {
  const bytes = await readFile(file);
  bytes[Math.floor(place * bytes.length)]! ^= 1;
  await writeFile(file, bytes);
}

const faults: Readonly<Record<string, (file: string, place: number, other: string) => Promise<void>>> = {
  "a changed bit": flipBit,
  "missing bytes": async (file, place) => truncate(file, Math.floor(place * (await stat(file)).size)),
  "an added byte": async (file) => writeFile(file, "\n", { flag: "a" }),
  "a missing file": (file) => rm(file),
  "another file's bytes": (file, _, other) => copyFile(other, file),
};

describe.each(formats)("an exported folder in the format %s", (format) => {
  it("opens as it is, and with files of other programs", async () => {
    await opens(folders[format]);
    const card = path.join(folders[format], "README.md");
    await writeFile(card, "# A model\n");
    await opens(folders[format]);
    await rm(card);
  });

  it.each(Object.keys(faults))("is refused with %s, by the name of the file", async (fault) => {
    await withFiles(folders[format], async (files) => {
      const of = (name: string) => ({ file: name, other: files[(files.indexOf(name) + 1) % files.length]! });
      await fc.assert(
        fc.asyncProperty(fc.double({ min: 0, max: 0.999, noNaN: true }), async (place) => {
          for (const { file, other } of files.map(of)) {
            const bytes = await readFile(file);
            await faults[fault]!(file, place, other);
            const error = await opens(folders[format]).catch((thrown: unknown) => thrown);
            await writeFile(file, bytes);
            expect(error).toMatchObject({
              code: "model.malformed",
              message: expect.stringContaining(path.basename(file)),
              hint: expect.stringContaining(path.join(folders[format], checksums)),
            });
          }
        }),
        { numRuns: 2 },
      );
    });
  });

  it("is refused with an added file that would change the model", async () => {
    const added = path.join(folders[format], "chat_template.jinja");
    await writeFile(added, "{{ messages }}");
    await expect(opens(folders[format])).rejects.toThrow(/chat_template\.jinja was added/);
    await rm(added);
    const templates = path.join(folders[format], "additional_chat_templates");
    await mkdir(templates);
    await writeFile(path.join(templates, "tool_use.jinja"), "{{ messages }}");
    await expect(opens(folders[format])).rejects.toThrow(/tool_use\.jinja was added/);
    await rm(templates, { recursive: true });
  });

  it("opens with a change on purpose once its checksums are deleted", async () => {
    await withFiles(folders[format], async (files) => {
      const aside = path.join(folders[format], "..", checksums);
      await flipBit(files.find((file) => file.endsWith("model.safetensors"))!, 0.999);
      await expect(opens(folders[format])).rejects.toThrow(/has changed since its export/);
      await rename(path.join(folders[format], checksums), aside);
      // An adapter that is whole, on a base that is changed, is still found out by the hash of its base.
      await opens(folders[format]);
      await rename(aside, path.join(folders[format], checksums));
    });
  });

  it("is refused with checksums that cannot be read", async () => {
    const file = path.join(folders[format], checksums);
    const text = await readFile(file, "utf8");
    for (const broken of ["", "{}", '{ "files": { "config.json": 1 } }']) {
      await writeFile(file, broken);
      await expect(opens(folders[format])).rejects.toMatchObject({
        code: "model.malformed",
        message: expect.stringContaining(checksums),
      });
    }
    await writeFile(file, text);
  });
});

it.each(formats)("a program's Model.export writes them too (%s)", async (format) => {
  const target = path.join(temporaryFolder(), "model");
  const [from] = await openModels(folders[format], { backend });
  await from!.model.export(target, format);
  await from!.model.close();
  await opens(target);
  await flipBit(path.join(target, format === "peft" ? "adapter_config.json" : "config.json"), 0.5);
  await expect(opens(target)).rejects.toThrow(/has changed since its export/);
});

it("reads a file of weights once", async () => {
  const folder = folders.huggingface;
  const weights = path.join(folder, "model.safetensors");
  await using handle = await open(weights);
  const read = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, "read");
  await loadBase({ type: "folder", folder });
  const bytes = (await Promise.all(read.mock.results.map(({ value }) => value as ReturnType<typeof handle.read>)))
    .map(({ bytesRead }) => bytesRead)
    .reduce((sum, count) => sum + count, 0);
  read.mockRestore();
  expect(bytes).toBe((await stat(weights)).size);
});
