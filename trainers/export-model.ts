import { rename, rm } from "node:fs/promises";
import type { Capabilities, ExportFormat, Model } from "./backend/training-backend.ts";
import type { TrainingConfig } from "./config/training-config.ts";

/** The form that a run's model is exported in, or undefined for none. */
export function exportFormat(config: TrainingConfig, capabilities: Capabilities): ExportFormat | undefined {
  const { format } = config.export;
  if (format === "none") return undefined;
  const wanted = format === "auto" ? (config.model.adapter.type === "lora" ? "peft" : "huggingface") : format;
  return capabilities.exportFormats.includes(wanted) ? wanted : undefined;
}

/** Exports a model to a folder, whole or not at all; one that is there is replaced. */
export async function exportModel(options: {
  readonly model: Model;
  readonly folder: string;
  readonly format: ExportFormat;
}): Promise<void> {
  const { model, folder, format } = options;
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  try {
    await model.export(partial, format);
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
