import { z } from "zod";
import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import { type TrainingConfig, trainingConfigShape } from "../../trainers/config/training-config.ts";
import type { EnvironmentEntry } from "../environment/registry.ts";

/** A run as a config file says it: an environment, and everything else that determines the training. */
export interface RunConfig extends TrainingConfig {
  readonly output?: string | undefined;
  readonly environment: { readonly id: string; readonly [option: string]: unknown };
}

/** The strict schema of a config file, for these environments and algorithms. */
export function runConfigSchema(options: {
  readonly environments: readonly EnvironmentEntry[];
  readonly algorithms: readonly AlgorithmDefinition[];
}): z.ZodType<RunConfig> {
  const { seed, ...training } = trainingConfigShape(options.algorithms);
  const environments = options.environments.map((entry) =>
    entry.options.strict().safeExtend({ id: z.literal(entry.id).describe(entry.description) }),
  );
  return z.strictObject({
    seed,
    output: z.string().min(1).optional().describe("The run's folder; runs/ and the config's name when absent."),
    environment: z
      .discriminatedUnion("id", environments as unknown as [z.ZodObject, ...z.ZodObject[]])
      .describe("What is practised.") as unknown as z.ZodType<RunConfig["environment"]>,
    ...training,
  });
}
