import { unknownNameError } from "../../src/errors/index.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { grpo } from "./grpo.ts";
import { sft } from "./sft.ts";

export type { Algorithm, AlgorithmDefinition, RolloutShape, UpdateSchedule } from "./algorithm.ts";
export { defineAlgorithm } from "./define-algorithm.ts";
export { type GrpoSettings, grpo } from "./grpo.ts";
export { type SftSettings, sft } from "./sft.ts";

/** Every algorithm that comes with Lyceum. */
export const algorithms: readonly AlgorithmDefinition[] = [sft, grpo];

/** The algorithm of that id. Throws `config.unknown-name` with the nearest known one. */
export function algorithmDefinition(
  id: string,
  known: readonly AlgorithmDefinition[] = algorithms,
): AlgorithmDefinition {
  const found = known.find((definition) => definition.id === id);
  if (found === undefined) {
    throw unknownNameError({ kind: "algorithm", name: id, known: known.map((definition) => definition.id) });
  }
  return found;
}
