import { z } from "zod";
import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import { type TrainingConfig, trainingConfigShape } from "../../trainers/config/training-config.ts";
import type { ConfigKey } from "../core/config/index.ts";
import { configReference } from "../core/config/index.ts";
import type { EnvironmentEntry, EnvironmentRegistry } from "../core/environment/registry.ts";
import { type HealthSettings, healthSettingsSchema } from "../reports/health/index.ts";
import { type TrackerConfig, trackerConfigsSchema } from "../reports/trackers/index.ts";

/** A run as a config file says it: an environment, and everything else that determines the training. */
export interface RunConfig extends TrainingConfig {
  readonly output?: string | undefined;
  readonly trackers: readonly TrackerConfig[];
  readonly health: HealthSettings;
  /** Either this or `environments`. */
  readonly environment?: EnvironmentConfig | undefined;
  /** Only before the stages are told apart: a config that is run has none. */
  readonly stages?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly environments?: readonly WeightedEnvironmentConfig[] | undefined;
}

/** An environment by its name, with its options. */
export interface EnvironmentConfig {
  readonly id: string;
  readonly [option: string]: unknown;
}

/** One environment of several in one run. */
export interface WeightedEnvironmentConfig extends EnvironmentConfig {
  /** Its share of the tasks, in proportion to the others'; 1 when absent. */
  readonly weight?: number | undefined;
  /** What its metrics are called by; its id when absent. */
  readonly name?: string | undefined;
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
  const shape = {
    seed,
    output: z.string().min(1).optional().describe("The run's folder; runs/ and the config's name when absent."),
    trackers: trackerConfigsSchema
      .default([])
      .describe("Who else is told of the run: tensorboard, { type: mlflow, url, experiment }; see trackers.md."),
    health: healthSettingsSchema.prefault({} as never),
    environment: z
      .discriminatedUnion("id", environments as unknown as [z.ZodObject, ...z.ZodObject[]])
      .optional()
      .describe("What is practised.") as unknown as z.ZodType<RunConfig["environment"]>,
    environments: z
      .array(weightedEnvironment)
      .min(1)
      .optional()
      .describe(
        "Instead of environment: several in one run, each with its options beside its id, weight (1 when absent) and name.",
      ),
    ...training,
    stages: z
      .array(z.record(z.string(), z.json()))
      .optional()
      .describe("Runs one after the other, each this config with keys of its own over it; see training.md."),
  };
  return z.strictObject(shape).check((context) => {
    const { environment, environments: several } = context.value;
    if ((environment === undefined) !== (several === undefined)) return;
    const message = "give either environment (what is practised) or environments (several at once)";
    context.issues.push({ code: "custom", message, input: context.value, path: [] });
  }) as unknown as z.ZodType<RunConfig>;
}

/** Every key that a config file may have, for these environments and algorithms. */
export function configKeys(known: {
  readonly environments: Pick<EnvironmentRegistry, "entries">;
  readonly algorithms: readonly AlgorithmDefinition[];
}): readonly ConfigKey[] {
  const { environments, algorithms } = known;
  return configReference(runConfigSchema({ environments: environments.entries, algorithms }));
}

/** Its other options are checked when the environment is made. */
const weightedEnvironment = z.record(z.string(), z.json()).check((context) => {
  const { id, weight = 1, name = "" } = context.value;
  const refuse = (key: string, message: string): void => {
    context.issues.push({ code: "custom", message, input: context.value[key], path: [key] });
  };
  if (typeof id !== "string") refuse("id", "an environment needs an id");
  if (typeof weight !== "number" || !(weight > 0)) refuse("weight", "the weight must be a number above 0");
  if (typeof name !== "string") refuse("name", "the name must be a text");
}) as unknown as z.ZodType<WeightedEnvironmentConfig>;
