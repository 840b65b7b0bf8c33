import { join } from "node:path";
import type { ModelSource, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { tinyConfig } from "../onnx/tiny-config.ts";

/** The folder of a tiny model. */
export type TinyModel = Extract<ModelSource, { readonly type: "pretrained" }>;

/** Writes a tiny model with random weights into a folder, and returns it as a source. */
export async function tinyModel(backend: TrainingBackend, folder: string): Promise<TinyModel> {
  const path = join(folder, "tiny");
  const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
  const model = await backend.openModel({ source, trainable: { type: "full" } });
  await model.export(path, "huggingface");
  await model.close();
  return { type: "pretrained", path, chatTemplate: "none" } as const;
}
