import type { TrainingConfig } from "./training-config.ts";

const complete = new WeakSet<object>();

/**
 * Completes a config whose sections the schema has checked: fills in the defaults that depend on other keys, leaves out
 * undefined keys, freezes the result and remembers it, so that it is not checked again. Also completes a changed copy
 * of a complete config.
 */
export function completeConfig(checked: TrainingConfig): TrainingConfig {
  const config = completeSections(checked);
  complete.add(config);
  return config;
}

/** Returns true for a result of {@link completeConfig}. */
export function isComplete(config: object): config is TrainingConfig {
  return complete.has(config);
}

/** Completes the sections of a larger config, such as that of the command line, and freezes all of it. */
export function completeSections<Config extends TrainingConfig>(checked: Config): Config {
  const { algorithm, rewards, sampling, training } = checked;
  const { id, ...settings } = algorithm;
  return frozen({
    ...checked,
    algorithm: { id, ...settings },
    rewards: rewards.map((reward) =>
      reward.type === "overlong-penalty" ? { ...reward, maxTokens: reward.maxTokens ?? sampling.maxTokens } : reward,
    ),
    training: training.epochs === undefined ? { ...training, steps: training.steps ?? 100 } : training,
  }) as Config;
}

/** Returns a frozen copy of plain data without undefined keys. */
function frozen(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen));
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, frozen(item)]]));
  return Object.freeze(Object.fromEntries(entries));
}
