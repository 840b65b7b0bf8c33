import { z } from "zod";
import { type HealthSettings, healthSettingsSchema } from "../reports/health/index.ts";
import { type TrackerConfig, trackerConfigsSchema } from "../reports/trackers/index.ts";
import type { ConfigKey } from "../src/core/config/index.ts";
import { configReference } from "../src/core/config/index.ts";
import type { EnvironmentEntry, EnvironmentRegistry } from "../src/core/environment/registry.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import { completeConfig, completeSections } from "../trainers/config/complete-config.ts";
import { type TrainingConfig, trainingConfigShape } from "../trainers/config/training-config.ts";
import { type BackendConfig, backendConfigSchema } from "./backend-config.ts";

/** The config of a run: an environment, and all settings of the training. It is checked, complete and frozen. */
export interface RunConfig extends TrainingConfig {
  readonly output?: string | undefined;
  readonly backend: BackendConfig;
  readonly trackers: readonly TrackerConfig[];
  readonly health: HealthSettings;
  /** Exclusive with `environments`. */
  readonly environment?: EnvironmentConfig | undefined;
  readonly environments?: readonly WeightedEnvironmentConfig[] | undefined;
}

/** An environment by name, with its options. */
export interface EnvironmentConfig {
  readonly id: string;
  readonly [option: string]: unknown;
}

/** One of several environments of a run. */
export interface WeightedEnvironmentConfig extends EnvironmentConfig {
  /** Its share of the tasks, relative to the other weights. */
  readonly weight: number;
  /** Its name in metrics. Its id by default. */
  readonly name?: string | undefined;
}

/** Creates the strict schema of a config file for these environments and algorithms. */
export function runConfigSchema(options: {
  readonly environments: readonly EnvironmentEntry[];
  readonly algorithms: readonly AlgorithmDefinition[];
  /** True for a stage after the first. It starts from the weights of the stage before it. */
  readonly isLaterStage?: boolean | undefined;
}): z.ZodType<RunConfig> {
  const { seed, ...training } = trainingConfigShape(options.algorithms);
  const environments = options.environments.map((entry) =>
    entry.options.strict().safeExtend({ id: z.literal(entry.id).describe(entry.description) }),
  );
  const weighted = environments.map((one) =>
    one.safeExtend({ weight: z.number().positive().default(1), name: z.string().min(1).optional() }),
  );
  const shape = {
    seed,
    output: z.string().min(1).optional().describe("The run folder. By default runs/ and the name of the config file."),
    backend: backendConfigSchema.default({ type: "onnx" }),
    trackers: trackerConfigsSchema
      .default([])
      .describe("The trackers of the run: tensorboard, { type: mlflow, url, experiment }. See trackers.md."),
    health: healthSettingsSchema.prefault({} as never),
    environment: z
      .discriminatedUnion("id", cases(environments))
      .optional()
      .describe("The environment to train in.") as unknown as z.ZodType<RunConfig["environment"]>,
    environments: z
      // The reference lists the options of an environment once, under environment.
      .array(z.record(z.string(), z.json()).pipe(z.discriminatedUnion("id", cases(weighted)) as never))
      .min(1)
      .optional()
      .describe(
        "Several environments in one run, instead of environment. Each has an id, options, a weight (1 by default) and a name.",
      ) as unknown as z.ZodType<RunConfig["environments"]>,
    ...training,
    stages: z
      .array(z.record(z.string(), z.json()))
      .optional()
      .describe("Runs one after the other. Each uses this config with its own keys merged into it. See training.md."),
  };
  return z
    .strictObject(shape)
    .check((context) => {
      const { environment, environments: several } = context.value;
      if ((environment === undefined) !== (several === undefined)) return;
      const message = "set either environment or environments (several at once)";
      context.issues.push({ code: "custom", message, input: context.value, path: [] });
    })
    .check(({ value, issues }) => {
      const { backend, model, agents } = value as unknown as RunConfig;
      if (backend.type === "tinker" || backend.quantize === undefined || Object.keys(agents.models).length > 0) return;
      const isFromFiles = model.path !== undefined || options.isLaterStage === true;
      if (isFromFiles && model.adapter.type !== "full") return;
      const missing = isFromFiles ? "model.adapter" : "model.path and model.adapter";
      const message = `is for weights from files that are frozen under an adapter: set ${missing}, or remove quantize`;
      issues.push({ code: "custom", message, input: value, path: ["backend", "quantize"] });
    })
    .transform(({ environment, environments: several, ...rest }) =>
      completeSections({
        environment: environment && idFirst(environment),
        environments: several?.map(idFirst),
        ...rest,
      } as RunConfig),
    );
}

/** Returns the part of a run's config that the trainer takes. */
export function trainingPart(config: RunConfig): TrainingConfig {
  const {
    environment: _,
    environments: __,
    output: ___,
    trackers: ____,
    health: _____,
    backend: ______,
    ...training
  } = config;
  return completeConfig(training);
}

/** Returns the options with the id first, for people. */
function idFirst({ id, ...options }: EnvironmentConfig): EnvironmentConfig {
  return { id, ...options };
}

/** Returns schemas as the cases of a union. */
function cases(schemas: readonly z.ZodObject[]): [z.ZodObject, ...z.ZodObject[]] {
  return schemas as [z.ZodObject, ...z.ZodObject[]];
}

/** Returns every key that a config file may have, for these environments and algorithms. */
export function configKeys(known: {
  readonly environments: Pick<EnvironmentRegistry, "list">;
  readonly algorithms: readonly AlgorithmDefinition[];
}): readonly ConfigKey[] {
  const { environments, algorithms } = known;
  return configReference(runConfigSchema({ environments: environments.list(), algorithms }));
}
