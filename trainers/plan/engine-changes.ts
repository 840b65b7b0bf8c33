import type { Bits } from "../model-folders/architecture/quantized-parameters.ts";
import { type EngineRun, engineMemory } from "./engine-memory.ts";
import type { MachineRates } from "./measured-machine.ts";
import type { ModelSize } from "./model-size.ts";

/** A training that may have to change to fit into memory. */
export interface ChangeableRun extends EngineRun {
  /** The size with an adapter instead, which is proposed if full training does not fit. */
  readonly adapted: ModelSize;
  /** Returns the bytes of a quantized base, which is proposed for adapters. Absent if the model cannot be quantized. */
  readonly quantizedBytesOf?: ((bits: Bits) => number) | undefined;
  readonly rates: MachineRates;
}

/**
 * Returns the single changes that make a training fit, so that the high end of its memory fits into this machine: a
 * smaller micro-batch, an adapter, or a quantized base under an adapter. If no single change is enough, returns one entry:
 * those together that are enough, or the advice that only another model or machine helps.
 */
export function engineChanges(options: ChangeableRun): string[] {
  const { size, adapted, maxTokensPerMicroBatch, quantizedBytesOf, rates } = options;
  const isFull = size.adapter === 0;
  const fits = (changed: Partial<ChangeableRun>): boolean =>
    engineMemory({ ...options, ...changed, memory: rates.memory }).at(-1)!.high <= rates.memory;
  const changes: string[] = [];
  for (let fewer = Math.floor(maxTokensPerMicroBatch / 2); fewer >= 64; fewer = Math.floor(fewer / 2)) {
    if (!fits({ maxTokensPerMicroBatch: fewer })) continue;
    changes.push(`smaller micro-batches: --set training.maxTokensPerMicroBatch=${fewer}`);
    break;
  }
  if (isFull && fits({ size: adapted })) changes.push("an adapter: --set model.adapter.type=lora");
  const bits = options.quantizedBytes === undefined ? ([8, 4] as const) : [];
  const quantized = (changed: Partial<ChangeableRun>): Bits | undefined =>
    quantizedBytesOf && bits.find((one) => fits({ ...changed, quantizedBytes: quantizedBytesOf(one) }));
  const alone = isFull ? undefined : quantized({});
  if (alone !== undefined) {
    changes.push(`a base of ${alone} bits: --set backend.type=onnx backend.quantize=${alone}`);
  }
  if (changes.length > 0) return changes;
  // Several changes together, the least costly first.
  const smaller = { size: isFull ? adapted : size, maxTokensPerMicroBatch: Math.min(256, maxTokensPerMicroBatch) };
  const [adapter, setting] = isFull ? ["an adapter", "model.adapter.type=lora "] : ["", ""];
  if (isFull && fits(smaller)) {
    return [`${adapter} and smaller micro-batches: --set ${setting}training.maxTokensPerMicroBatch=256`];
  }
  const together = quantized(smaller);
  if (together === undefined) {
    return ["a smaller model, shorter sequences, or a machine with more memory: no other change is enough"];
  }
  return [
    `${isFull ? `${adapter}, ` : ""}a base of ${together} bits and smaller micro-batches: --set ${setting}backend.type=onnx ` +
      `backend.quantize=${together} training.maxTokensPerMicroBatch=${smaller.maxTokensPerMicroBatch}`,
  ];
}
