import type { Json } from "../../contract/json.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted } from "./old-key.ts";

/** The algorithm of a config of MRLM. */
export const algorithmOf = (config: OldConfig): string => config.text("training.algorithm")?.toLowerCase() ?? "ppo";

/** In effect only under one of these algorithms. */
export const under =
  (algorithms: readonly string[], convert: (value: Json, config: OldConfig) => Converted) =>
  (value: Json, config: OldConfig): Converted =>
    algorithms.includes(algorithmOf(config)) ? convert(value, config) : {};

/** The default of MRLM, only under one of these algorithms. */
export const missing =
  (algorithms: readonly string[], value: Json) =>
  (config: OldConfig): Json | undefined =>
    algorithms.includes(algorithmOf(config)) ? value : undefined;

/** The algorithms that learn from episodes of the model. */
export const online: readonly string[] = ["ppo", "grpo"];
