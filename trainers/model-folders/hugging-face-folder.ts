import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Json } from "../../src/contract/json.ts";
import { writeNewFolder } from "./weights/new-folder.ts";
import { type TensorToWrite, writeSafetensors } from "./weights/safetensors-writer.ts";
import { writeValueHead } from "./weights/value-head-file.ts";

/**
 * Writes a new folder that `transformers` can load: weights (in shards if large), config.json and the tokenizer's files
 * (strings unchanged, other values as JSON). Throws `checkpoint.write-failed` if the folder cannot be written
 * completely.
 */
export async function writeHuggingFaceFolder(options: {
  readonly folder: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly tensors: Iterable<TensorToWrite>;
  readonly tokenizerFiles: Readonly<Record<string, Json>>;
  /** Written to the same folder: see `valueHeadFile`. */
  readonly valueHead?: readonly TensorToWrite[];
}): Promise<void> {
  const { folder, config, tensors, tokenizerFiles, valueHead = [] } = options;
  await writeNewFolder(folder, async (partial) => {
    await writeSafetensors(path.join(partial, "model.safetensors"), tensors);
    await writeValueHead(partial, valueHead);
    await writeTokenizerFiles(partial, tokenizerFiles);
    await writeFile(path.join(partial, "config.json"), toText(config));
  });
}

/** Writes a tokenizer's files into a folder: strings unchanged, other values as JSON. */
export async function writeTokenizerFiles(folder: string, files: Readonly<Record<string, Json>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), typeof content === "string" ? content : toText(content));
  }
}

function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
