import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import { createByteRenderer } from "../../src/core/tokens/byte-renderer.ts";
import { byteTokenizerFiles } from "../../src/core/tokens/byte-tokenizer.ts";
import { loadRenderer } from "../../src/core/tokens/load-renderer.ts";
import { writeHuggingFaceFolder } from "../../trainers/model-folders/hugging-face-folder.ts";
import { findModel, type ModelFolderOptions, readTokenizerFiles } from "../../trainers/model-folders/model-folder.ts";
import { openWeights } from "../../trainers/model-folders/weights/safetensors.ts";
import { writeSafetensors } from "../../trainers/model-folders/weights/safetensors-writer.ts";
import { startFakeHub } from "../core/hub/fake-hub.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyGguf } from "./gguf-writer.ts";

const tensors = ["a", "b"].map((name, i) => ({ name, shape: [1], data: Float32Array.of(i) }));
const config = { model_type: "llama", vocab_size: 263 };

async function writeModel(folder: string): Promise<void> {
  await writeHuggingFaceFolder({ folder, config, tensors, tokenizerFiles: byteTokenizerFiles() });
}

/** The files of a folder by name. */
async function filesOf(folder: string): Promise<Record<string, Uint8Array>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(paths.map(async (file) => [path.relative(folder, file), await readFile(file)])),
  );
}

const folderOf = async (model: string, options?: ModelFolderOptions): Promise<string> =>
  (await findModel(model, options)).folder;

describe("an exported folder", () => {
  it("contains config, weights and a tokenizer that can be loaded", async () => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "model");
    await mkdir(folder);
    await writeModel(folder);
    expect((await readdir(folder)).toSorted()).toEqual([
      "config.json",
      "generation_config.json",
      "model.safetensors",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    expect(JSON.parse(await readFile(path.join(folder, "config.json"), "utf8"))).toEqual(config);
    expect(await folderOf(folder)).toBe(folder);
    await using weights = await openWeights(folder);
    expect(await weights.read("b")).toEqual(Float32Array.of(1));
    const messages = [textMessage("user", "12+34=")];
    expect((await loadRenderer(folder)).start({ messages })).toEqual(createByteRenderer().start({ messages }));
  });

  it("passes its tokenizer files on to the next export, byte for byte", async () => {
    const parent = temporaryFolder();
    const [first, second] = ["first", "second"].map((name) => path.join(parent, name)) as [string, string];
    await writeModel(first);
    const template = "{{ 'odd  spacing' }}\n\n";
    await writeFile(path.join(first, "chat_template.jinja"), template);
    await mkdir(path.join(first, "additional_chat_templates"));
    const toolTemplate = path.join("additional_chat_templates", "tool_use.jinja");
    await writeFile(path.join(first, toolTemplate), template);
    await writeFile(path.join(first, "notes.txt"), "not the tokenizer's");
    const tokenizerFiles = await readTokenizerFiles(first);
    await writeHuggingFaceFolder({ folder: second, config, tensors, tokenizerFiles });
    const { "notes.txt": _, ...expected } = await filesOf(first);
    expect(await filesOf(second)).toEqual(expected);
    expect(tokenizerFiles["chat_template.jinja"]).toBe(template);
  });

  it("does not overwrite anything and is never incomplete", async () => {
    const parent = temporaryFolder();
    await writeModel(path.join(parent, "model"));
    await expect(writeModel(path.join(parent, "model"))).rejects.toMatchObject({
      code: "checkpoint.write-failed",
      message: expect.stringContaining("not empty"),
    });
    const failing = [{ name: "a", shape: [2], data: Float32Array.of(1) }];
    const folder = path.join(parent, "other");
    await expect(writeHuggingFaceFolder({ folder, config, tensors: failing, tokenizerFiles: {} })).rejects.toThrow(
      RangeError,
    );
    expect(await readdir(parent)).toEqual(["model"]);
  });
});

describe("a local folder", () => {
  it.each([
    ["config.json", ["config.json"], /again with all its files/],
    ["tokenizer.json", ["tokenizer.json"], /again with all its files/],
    ["model.safetensors", ["model.safetensors (or model.safetensors.index.json)"], /again with all its files/],
  ])("without %s is refused, with the present and the required files", async (absent, needed, hint) => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "model");
    await writeModel(folder);
    await rm(path.join(folder, absent));
    const present = await readdir(folder);
    await expect(folderOf(folder)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining(present.toSorted().join(", ")),
      hint: expect.stringMatching(hint),
      data: { needed, present },
    });
  });

  it.each([
    ["adapter_config.json", /without its weights/],
    ["model-q4.gguf", /FOLDER\/FILE\.gguf/],
    ["pytorch_model.bin", /save_pretrained/],
    ["tokenizer.model", /save_pretrained/],
  ])("of another kind is distinguished from a broken one by its %s", async (name, hint) => {
    const folder = temporaryFolder();
    await writeFile(path.join(folder, name), "");
    await expect(folderOf(folder)).rejects.toMatchObject({
      code: "model.missing",
      hint: expect.stringMatching(hint),
    });
  });

  it("that is empty has its own message", async () => {
    const folder = temporaryFolder();
    await expect(folderOf(folder)).rejects.toThrow(/It is empty/);
  });

  it("without a shard of its index is refused", async () => {
    const parent = temporaryFolder();
    const folder = path.join(parent, "model");
    await writeModel(folder);
    await rm(path.join(folder, "model.safetensors"));
    await writeSafetensors(path.join(folder, "model.safetensors"), tensors, { maximumShardBytes: 4 });
    expect(await folderOf(folder)).toBe(folder);
    await rm(path.join(folder, "model-00002-of-00002.safetensors"));
    await expect(folderOf(folder)).rejects.toMatchObject({
      code: "model.missing",
      data: { needed: ["model-00002-of-00002.safetensors"] },
    });
  });

  it("that does not exist, or is a file, is refused without a request to the hub", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "model.safetensors");
    await writeFile(file, "");
    const fetch = () => Promise.reject(new Error("the hub was asked"));
    for (const model of [`${folder}/absent`, "./absent/model", "../absent/model", file, "absent", ""]) {
      await expect(folderOf(model, { fetch })).rejects.toMatchObject({
        code: "model.missing",
        message: expect.not.stringContaining("the hub was asked"),
      });
    }
  });
});

describe("a hub model", () => {
  const commit = "1".repeat(40);

  it("is downloaded into one folder, with only the required files", async () => {
    const scratch = temporaryFolder();
    const source = path.join(scratch, "source");
    await writeModel(source);
    await rm(path.join(source, "model.safetensors"));
    await writeSafetensors(path.join(source, "model.safetensors"), tensors, { maximumShardBytes: 4 });
    const files = { ...(await filesOf(source)), "pytorch_model.bin": "x", "README.md": "x", "onnx/model.onnx": "x" };
    await using hub = await startFakeHub([
      { type: "model", name: "owner/tiny", branches: { main: commit, v2: commit }, commits: { [commit]: files } },
    ]);
    const options = { hubUrl: hub.url, cacheFolder: path.join(scratch, "cache") };
    const folder = await folderOf("owner/tiny", { ...options, revision: "v2" });
    expect(await filesOf(folder)).toEqual(await filesOf(source));
    expect(await folderOf(folder)).toBe(folder);
    await using weights = await openWeights(folder);
    expect(weights.names).toEqual(["a", "b"]);
    const requests = hub.requests.length;
    expect(await folderOf("owner/tiny", { ...options, revision: commit })).toBe(folder);
    expect(hub.requests.length).toBe(requests);
  });

  it("without weights is refused before anything is downloaded", async () => {
    const scratch = temporaryFolder();
    await using hub = await startFakeHub([
      {
        type: "model",
        name: "owner/tiny",
        branches: { main: commit },
        commits: { [commit]: { "config.json": "{}", "tokenizer.json": "{}", "model.gguf": "x" } },
      },
    ]);
    const options = { hubUrl: hub.url, cacheFolder: path.join(scratch, "cache") };
    await expect(folderOf("owner/tiny", options)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("model.gguf"),
      hint: expect.stringContaining("GGUF"),
    });
    expect(hub.requests.filter((request) => request.includes("resolve"))).toEqual([]);
  });

  it("is found by the name of its GGUF file", async () => {
    const scratch = temporaryFolder();
    vi.stubEnv("XDG_CACHE_HOME", path.join(scratch, "converted"));
    const commit = "c".repeat(40);
    await using hub = await startFakeHub([
      {
        type: "model",
        name: "owner/tiny-GGUF",
        branches: { main: commit },
        commits: { [commit]: { "q8/tiny.gguf": tinyGguf(), "README.md": "no GGUF file" } },
      },
    ]);
    const options = { hubUrl: hub.url, cacheFolder: path.join(scratch, "cache") };
    const found = await findModel("hf:owner/tiny-GGUF/q8/tiny.gguf", options);
    expect(found).toEqual({ kind: "model", folder: expect.stringContaining("converted") });
    await using weights = await openWeights(found.folder);
    expect(weights.has("model.norm.weight")).toBe(true);
    await expect(findModel("hf:owner/tiny-GGUF/README.md", options)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringContaining("not a GGUF file"),
    });
    await expect(findModel("hf:owner/tiny-GGUF/q4/tiny.gguf", options)).rejects.toMatchObject({
      code: "model.missing",
    });
    vi.unstubAllEnvs();
  });

  it("that does not exist has a message about both folder and hub", async () => {
    const scratch = temporaryFolder();
    await using hub = await startFakeHub([]);
    const options = { hubUrl: hub.url, cacheFolder: path.join(scratch, "cache") };
    await expect(folderOf("owner/absent", options)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringMatching(/no folder owner\/absent.*hub/),
    });
  });

  it("is not searched for after the caller aborts", async () => {
    const scratch = temporaryFolder();
    await using hub = await startFakeHub([]);
    const options = { hubUrl: hub.url, cacheFolder: path.join(scratch, "cache"), signal: AbortSignal.abort() };
    const error: unknown = await folderOf("owner/absent", options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect((error as { code?: unknown }).code).not.toBe("model.missing");
  });
});
