import path from "node:path";
import { type TensorToWrite, writeSafetensors } from "./safetensors-writer.ts";

/**
 * The file of an exported model that contains its value head: `value_head.weight` (1, hidden size) and
 * `value_head.bias` (1), in float32. Programs that load the model ignore it.
 */
export const valueHeadFile = "value_head.safetensors";

/** Writes the head's tensors into a folder. Does nothing if there are none. */
export async function writeValueHead(folder: string, tensors: readonly TensorToWrite[]): Promise<void> {
  if (tensors.length > 0) await writeSafetensors(path.join(folder, valueHeadFile), tensors);
}
