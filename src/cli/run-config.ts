import { z } from "zod";
import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import { type TrainingConfig, trainingConfigShape } from "../../trainers/config/training-config.ts";
import type { ConfigKey } from "../core/config/index.ts";
import { configReference } from "../core/config/index.ts";
import type { EnvironmentEntry, EnvironmentRegistry } from "../core/environment/registry.ts";
import { type HealthSettings, healthSettingsSchema } from "../reports/health/index.ts";
import { type TrackerConfig, trackerConfigsSchema } from "../reports/trackers/index.ts";

/** The config of a run: an environment, and all settings of the training. */
export interface RunConfig extends TrainingConfig {
  readonly output?: string | undefined;
  readonly trackers: readonly TrackerConfig[];
  readonly health: HealthSettings;
  /** Exclusive with `environments`. */
  readonly environment?: EnvironmentConfig | undefined;
  /** Present only before the config is split into its stages. */
  readonly stages?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly environments?: readonly WeightedEnvironmentConfig[] | undefined;
}

/** An environment by name, with its options. */
export interface EnvironmentConfig {
  readonly id: string;
  readonly [option: string]: unknown;
}

/** One of several environments of a run. */
export interface WeightedEnvironmentConfig extends EnvironmentConfig {
  /** Its share of the tasks, relative to the other weights. 1 by default. */
  readonly weight?: number | undefined;
  /** Its name in metrics. Its id by default. */
  readonly name?: string | undefined;
}

/** Creates the strict schema of a config file for these environments and algorithms. */
export function runConfigSchema(options: {
  readonly environments: readonly EnvironmentEntry[];
  readonly algorithms: readonly AlgorithmDefinition[];
}): z.ZodType<RunConfig> {
  const { seed, ...training } = trainingConfigShape(options.algorithms);
  const environments = options.environments.map((entry) =>
    entry.options.strict().safeExtend({ id: z.literal(entry.id).describe(entry.description) }),
  );
  const shape = {
    seed,
    output: z.string().min(1).optional().describe("The run folder. By default runs/ and the name of the config file."),
    trackers: trackerConfigsSchema
      .default([])
      .describe("The trackers of the run: tensorboard, { type: mlflow, url, experiment }. See trackers.md."),
    health: healthSettingsSchema.prefault({} as never),
    environment: z
      .discriminatedUnion("id", environments as unknown as [z.ZodObject, ...z.ZodObject[]])
      .optional()
      .describe("The environment to train in.") as unknown as z.ZodType<RunConfig["environment"]>,
    environments: z
      .array(weightedEnvironment)
      .min(1)
      .optional()
      .describe(
        "Several environments in one run, instead of environment. Each has an id, options, a weight (1 by default) and a name.",
      ),
    ...training,
    stages: z
      .array(z.record(z.string(), z.json()))
      .optional()
      .describe("Runs one after the other. Each uses this config with its own keys merged into it. See training.md."),
  };
  return z.strictObject(shape).check((context) => {
    const { environment, environments: several } = context.value;
    if ((environment === undefined) !== (several === undefined)) return;
    const message = "set either environment or environments (several at once)";
    context.issues.push({ code: "custom", message, input: context.value, path: [] });
  }) as unknown as z.ZodType<RunConfig>;
}

/** Returns every key that a config file may have, for these environments and algorithms. */
export function configKeys(known: {
  readonly environments: Pick<EnvironmentRegistry, "list">;
  readonly algorithms: readonly AlgorithmDefinition[];
}): readonly ConfigKey[] {
  const { environments, algorithms } = known;
  return configReference(runConfigSchema({ environments: environments.list(), algorithms }));
}

/** Its other options are checked when the environment is created. */
const weightedEnvironment = z.record(z.string(), z.json()).check((context) => {
  const { id, weight = 1, name = "" } = context.value;
  const refuse = (key: string, message: string): void => {
    context.issues.push({ code: "custom", message, input: context.value[key], path: [key] });
  };
  if (typeof id !== "string") refuse("id", "an environment needs an id");
  if (typeof weight !== "number" || !(weight > 0)) refuse("weight", "the weight must be a number above 0");
  if (typeof name !== "string") refuse("name", "the name must be a text");
}) as unknown as z.ZodType<WeightedEnvironmentConfig>;
