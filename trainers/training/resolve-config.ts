import { createRegistry } from "../../src/core/registry.ts";
import { type Algorithm, type AlgorithmDefinition, algorithms } from "../algorithms/index.ts";
import { defaultLearningRate } from "./default-learning-rate.ts";
import { completeConfig } from "../config/complete-config.ts";
import { checkConfig, type TrainingConfig, type TrainingConfigInput } from "../config/training-config.ts";

/** A complete config with its learning rate: the value that a run trains with and records. */
export type ResolvedConfig = TrainingConfig & { readonly training: { readonly learningRate: number } };

/** A resolved config, and facts about the model that its defaults depend on. */
export interface Resolution {
  readonly config: ResolvedConfig;
  /**
   * Describes the default learning rate, such as `LoRA, from rewards`. Undefined if the config sets a learning rate.
   */
  readonly defaultRateOf: string | undefined;
  /** True if the model started with random weights, in this run or in a run that it continues. */
  readonly fromScratch: boolean;
}

/**
 * Checks a config once and fills in every default. Use it to see or to record the values that {@link train} uses.
 * `train` does the same with a config that is not resolved. The config is plain data, such as the result of parsing
 * YAML. The default learning rate depends on the model's folder, which is read if it exists.
 *
 * Throws `config.invalid` with all problems, and `config.unknown-name` for an unknown algorithm.
 */
export async function resolveConfig(
  config: TrainingConfigInput,
  options: {
    /** The algorithms that the config may name. Those of Lyceum by default. */
    readonly algorithms?: readonly AlgorithmDefinition[];
  } = {},
): Promise<ResolvedConfig> {
  const checked = checkConfig(config, options.algorithms);
  const algorithm = createAlgorithm(checked, options.algorithms);
  return (await withLearningRate(checked, { algorithm })).config;
}

/** Creates the algorithm of a checked config. */
export function createAlgorithm(
  { algorithm: { id, ...settings } }: Pick<TrainingConfig, "algorithm">,
  known: readonly AlgorithmDefinition[] = algorithms.list(),
): Algorithm {
  return createRegistry("algorithm", known)
    .get(id)
    .create(settings as never);
}

/** Fills in the learning rate: that of the config, or `recorded`, or the default for the kind of training. */
export async function withLearningRate(
  config: TrainingConfig,
  options: {
    readonly algorithm: Pick<Algorithm, "learnsFrom">;
    /** The learning rate of the run that is resumed. It stays, even if the default has changed. */
    readonly recorded?: number | undefined;
  },
): Promise<Resolution> {
  const { algorithm, recorded } = options;
  const { learningRate: given } = config.training;
  const chosen = await defaultLearningRate({ model: config.model, algorithm });
  const learningRate = given ?? recorded ?? chosen.learningRate;
  return {
    config: completeConfig({ ...config, training: { ...config.training, learningRate } }) as ResolvedConfig,
    defaultRateOf: given === undefined ? chosen.defaultOf : undefined,
    fromScratch: chosen.fromScratch,
  };
}
