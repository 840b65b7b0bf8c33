import {
  checkConfig,
  type TrainingConfig,
  type TrainingConfigInput,
} from "../../../trainers/config/training-config.ts";
import { exactly } from "../../../trainers/plan/interval.ts";
import { planWorkload, type Workload } from "../../../trainers/plan/workload.ts";
import { createAlgorithm } from "../../../trainers/training/resolve-config.ts";

/** Returns the work of a step of a config whose lengths are known exactly. */
export function exactWorkload(
  given: {
    readonly algorithm?: TrainingConfigInput["algorithm"];
    readonly batchSize?: number;
    readonly agents?: number;
    readonly weights?: "separate" | "shared";
    readonly maxStaleness?: number;
    readonly prompt?: number;
    readonly completion?: number;
    readonly turns?: number;
    readonly evaluatedTasks?: number;
  } = {},
): Workload {
  const { algorithm = { id: "grpo", groupSize: 4 }, batchSize = 2, agents = 1, weights = "separate" } = given;
  const checked = checkedConfig({ algorithm, weights, maxStaleness: given.maxStaleness ?? 0 });
  const config = { ...checked, training: { ...checked.training, batchSize } };
  const { prompt = 10, completion = 30, turns = 1 } = given;
  const lengths = { prompt: exactly(prompt), completion: exactly(completion), turns };
  const { evaluatedTasks = 0 } = given;
  return planWorkload({ config, algorithm: createAlgorithm(config), agents, lengths, evaluatedTasks });
}

const known = new Map<string, TrainingConfig>();

/** Checks each config once, because properties need thousands. */
function checkedConfig(given: {
  readonly algorithm: TrainingConfigInput["algorithm"];
  readonly weights: "separate" | "shared";
  readonly maxStaleness: number;
}): TrainingConfig {
  const { algorithm, weights, maxStaleness } = given;
  const key = JSON.stringify(given);
  const config =
    known.get(key) ??
    checkConfig({ algorithm, model: { scratch: {} }, agents: { weights }, rollout: { maxStaleness } });
  known.set(key, config);
  return config;
}
