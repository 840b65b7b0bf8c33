import type { z } from "zod";
import { parseConfig } from "../config/parse-config.ts";
import type { Algorithm, AlgorithmDefinition } from "./algorithm.ts";

/** An {@link AlgorithmDefinition} whose `create` fills in the defaults of its settings and checks them. */
export function defineAlgorithm<Schema extends z.ZodObject>(options: {
  readonly id: string;
  readonly description: string;
  /** Made by `z.strictObject`. */
  readonly settings: Schema;
  readonly create: (settings: z.output<Schema>) => Algorithm;
}): AlgorithmDefinition<z.input<Schema>> {
  const { id, description, settings, create } = options;
  return {
    id,
    description,
    settings,
    create: (given) => create(parseConfig({ schema: settings, value: given ?? {}, name: `settings of ${id}` })),
  };
}
