import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentId } from "../../src/contract/action.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { writeFailure } from "../../src/contract/errors/write-failed.ts";
import { makeFolder } from "../../src/core/files/make-folder.ts";
import type { Capabilities, ExportDtype, ExportFormat, Model } from "../backend/training-backend.ts";
import { replaceFolder } from "../checkpoint/replace-folder.ts";
import { isTypedError } from "../checkpoint/write-checkpoint.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { modelChecksumsFile, writeModelChecksums } from "../model-folders/weights/model-checksums.ts";

/** Returns the format in which a learner's model is exported, or undefined if it is not. */
export function exportFormat(
  config: TrainingConfig,
  options: { readonly capabilities: Capabilities; readonly agents: readonly AgentId[] },
): ExportFormat | undefined {
  const { format } = config.export;
  if (format === "none") return undefined;
  const { adapter } = config.agents.models[options.agents[0]!] ?? config.model;
  const wanted = format === "auto" ? (adapter.type === "lora" ? "peft" : "huggingface") : format;
  return options.capabilities.exportFormats.includes(wanted) ? wanted : undefined;
}

/**
 * Exports a model to a folder with checksums, completely or not at all. An existing folder is replaced and deleted last. Throws
 * `checkpoint.write-failed` if the folder cannot be written, for example if the disk is full.
 */
export async function exportModel(options: {
  readonly model: Model;
  readonly folder: string;
  readonly format: ExportFormat;
  /** The data type of a whole model; see `Model.export`. */
  readonly dtype?: ExportDtype | undefined;
}): Promise<void> {
  const { model, folder, format, dtype } = options;
  const partial = `${folder}.partial`;
  try {
    await rm(partial, { recursive: true, force: true });
    await makeFolder(dirname(partial));
    await model.export(partial, format, { dtype });
    // A backend of a program may write none.
    if (!existsSync(join(partial, modelChecksumsFile))) await writeModelChecksums(partial);
    await replaceFolder(partial, folder);
  } catch (cause) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    if (isTypedError(cause)) throw cause;
    const { reason, code } = writeFailure(cause);
    throw new LyceumError({
      code: "checkpoint.write-failed",
      message: `The trained model could not be exported to ${folder}: ${reason}.`,
      hint: "Free some space or make the folder writable, then resume the run: its last checkpoint is complete.",
      data: { folder, ...(code === undefined ? {} : { code }) },
      cause,
    });
  }
}
