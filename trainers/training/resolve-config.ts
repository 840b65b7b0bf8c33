import { createRegistry } from "../../src/core/registry.ts";
import { type Algorithm, type AlgorithmDefinition, algorithms } from "../algorithms/index.ts";
import { completeConfig } from "../config/complete-config.ts";
import {
  checkConfig,
  type ResolvedConfig,
  type TrainingConfig,
  type TrainingConfigInput,
} from "../config/training-config.ts";
import type { Resolution } from "../run/training-run.ts";
import { defaultLearningRate } from "./default-learning-rate.ts";

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
