import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { policySpec } from "../../trainers/config/model-config.ts";
import { checkConfig } from "../../trainers/config/training-config.ts";

/** Writes a tiny model with random weights into a folder, as a checkpoint that programs in Python can load. */
export async function writeTinyCheckpoint(
  engine: TrainingBackend,
  options: { readonly family: "llama" | "qwen3"; readonly folder: string },
): Promise<void> {
  const { family, folder } = options;
  const scratch = { family, hiddenSize: 64, layers: 2, heads: 4, keyValueHeads: 2, maxLength: 256 };
  const config = checkConfig({ algorithm: { id: "sft" }, model: { scratch } });
  const model = await engine.openModel(policySpec(config.model, { seed: 7 }));
  await model.export(folder, "huggingface");
  await model.close();
}
