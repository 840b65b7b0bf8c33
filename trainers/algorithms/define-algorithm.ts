import type { z } from "zod";
import type { Algorithm, AlgorithmDefinition } from "./algorithm.ts";

/** Returns the definition of an algorithm unchanged. Infers the type of `create`'s settings from their schema. */
export function defineAlgorithm<Schema extends z.ZodObject>(definition: {
  /** The name in a config. */
  readonly id: string;
  readonly description: string;
  /** Created by `z.strictObject`. */
  readonly settings: Schema;
  readonly create: (settings: z.output<Schema>) => Algorithm;
}): AlgorithmDefinition {
  return definition;
}
