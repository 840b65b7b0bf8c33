import path from "node:path";
import { type TensorToWrite, writeSafetensors } from "./safetensors-writer.ts";

/**
 * The file of an export that holds the value head of a model that has one: `value_head.weight` (1, hidden size) and
 * `value_head.bias` (1), in float32. Programs that load the model do not look at it.
 */
export const valueHeadFile = "value_head.safetensors";

/** Writes the head's tensors into a folder; nothing where there are none. */
export async function writeValueHead(folder: string, tensors: readonly TensorToWrite[]): Promise<void> {
  if (tensors.length > 0) await writeSafetensors(path.join(folder, valueHeadFile), tensors);
}
