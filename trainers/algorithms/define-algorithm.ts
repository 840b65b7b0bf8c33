import type { z } from "zod";
import { parseConfig } from "../config/parse-config.ts";
import type { Algorithm, AlgorithmDefinition } from "./algorithm.ts";

/**
 * Defines an algorithm. The `create` of the returned {@link AlgorithmDefinition} fills in the defaults of the settings
 * and checks them. The type `Settings` is inferred from the schema unless it is given.
 */
export function defineAlgorithm<Schema extends z.ZodObject, Settings = z.input<Schema>>(options: {
  readonly id: string;
  readonly description: string;
  /** Created by `z.strictObject`. */
  readonly settings: Schema;
  readonly create: (settings: z.output<Schema>) => Algorithm;
}): AlgorithmDefinition<Settings> {
  const { id, description, settings, create } = options;
  return {
    id,
    description,
    settings,
    create: (given) => create(parseConfig({ schema: settings, value: given ?? {}, name: `settings of ${id}` })),
  };
}
