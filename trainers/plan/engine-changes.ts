import { type EngineRun, engineMemory } from "./engine-memory.ts";
import type { MachineRates } from "./measured-machine.ts";
import type { ModelSize } from "./model-size.ts";

/** A training that may have to change to fit into memory. */
export interface ChangeableRun extends EngineRun {
  /** The size with an adapter instead, which is proposed if full training does not fit. */
  readonly adapted: ModelSize;
  readonly rates: MachineRates;
}

/**
 * Returns the single changes that make a training fit, so that the high end of its memory fits into this machine: a
 * smaller micro-batch or an adapter. If no single change is enough, returns one entry: both together, or the advice
 * that only another model or machine helps.
 */
export function engineChanges(options: ChangeableRun): string[] {
  const { size, adapted, maxTokensPerMicroBatch, rates } = options;
  const fits = (changed: Partial<ChangeableRun>): boolean =>
    engineMemory({ ...options, ...changed }).at(-1)!.high <= rates.memory;
  const changes: string[] = [];
  for (let fewer = Math.floor(maxTokensPerMicroBatch / 2); fewer >= 64; fewer = Math.floor(fewer / 2)) {
    if (!fits({ maxTokensPerMicroBatch: fewer })) continue;
    changes.push(`smaller micro-batches: --set training.maxTokensPerMicroBatch=${fewer}`);
    break;
  }
  if (size.adapter === 0 && fits({ size: adapted })) changes.push("an adapter: --set model.adapter.type=lora");
  if (changes.length > 0) return changes;
  if (size.adapter === 0 && fits({ size: adapted, maxTokensPerMicroBatch: 256 })) {
    return ["an adapter and smaller micro-batches: --set model.adapter.type=lora training.maxTokensPerMicroBatch=256"];
  }
  return ["a smaller model, shorter sequences, or a machine with more memory: no other change is enough"];
}
