import type { Model } from "../../backend/training-backend.ts";
import { OnnxModel } from "./onnx-model.ts";

/** An array of weights or gradients with its shape. */
export interface InspectedArray {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/**
 * Computes the logits of every token of one sequence, with the shape (tokens, vocabulary). For comparisons with other
 * programs.
 */
export function readLogits(model: Model, ids: readonly number[]): Promise<Float32Array> {
  const { client, id } = asOnnx(model);
  return client.call("readLogits", { model: id, ids });
}

/**
 * Returns the accumulated gradient by parameter name: checkpoint names, or `<module>.lora_A.weight` and similar names.
 */
export async function readGradients(model: Model): Promise<Map<string, InspectedArray>> {
  const { client, id } = asOnnx(model);
  const arrays = await client.call("readGradients", { model: id });
  return new Map(arrays.map(({ name, shape, data }) => [name, { shape, data }]));
}

/** Overwrites trained parameters by name. */
export async function setParameters(model: Model, parameters: ReadonlyMap<string, InspectedArray>): Promise<void> {
  const { client, id } = asOnnx(model);
  const arrays = [...parameters].map(([name, { shape, data }]) => ({ name, shape, data }));
  await client.call("setParameters", { model: id, parameters: arrays });
}

function asOnnx(model: Model): OnnxModel {
  if (model instanceof OnnxModel) return model;
  throw new TypeError("Only models of the embedded engine can be inspected.");
}
