import type { z } from "zod";
import { parseConfig } from "../config/parse-config.ts";
import type { Algorithm, AlgorithmDefinition } from "./algorithm.ts";

/**
 * An {@link AlgorithmDefinition} whose `create` fills in the defaults of its settings and checks them. `Settings` are
 * those of the schema, unless a type of their own is given.
 */
export function defineAlgorithm<Schema extends z.ZodObject, Settings = z.input<Schema>>(options: {
  readonly id: string;
  readonly description: string;
  /** Made by `z.strictObject`. */
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
