import type { Json } from "../../src/contract/json.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted } from "./old-key.ts";

/** Returns the algorithm of an MRLM config. */
export const algorithmOf = (config: OldConfig): string => config.text("training.algorithm")?.toLowerCase() ?? "ppo";

/** Restricts a conversion to some algorithms. */
export const forAlgorithms =
  (algorithms: readonly string[], convert: (value: Json, config: OldConfig) => Converted) =>
  (value: Json, config: OldConfig): Converted =>
    algorithms.includes(algorithmOf(config)) ? convert(value, config) : {};

/** Returns a default of MRLM that applies only to some algorithms. */
export const missing =
  (algorithms: readonly string[], value: Json) =>
  (config: OldConfig): Json | undefined =>
    algorithms.includes(algorithmOf(config)) ? value : undefined;

/** The algorithms that train on episodes of the model. */
export const online: readonly string[] = ["ppo", "grpo"];
