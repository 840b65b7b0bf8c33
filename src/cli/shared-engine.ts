import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { parseTrainingConfig } from "../../trainers/config/training-config.ts";
import { canonicalJson } from "../core/taskset/canonical-json.ts";
import { type Catalog, engineOptions } from "./catalog.ts";
import type { RunConfig } from "./run-config.ts";

/** The part of a config with the settings of the embedded engine. */
export type EngineConfig = Pick<RunConfig, "model" | "training">;

/**
 * The embedded engine of a command. It starts when the first model needs it, and all models of the command run on it.
 * Models with the same base model share its weights. Disposal closes its models.
 */
export interface SharedEngine extends AsyncDisposable {
  backend(): Promise<TrainingBackend>;
  /** Returns the engine if it has started with the settings of this config. */
  runningAs(config: EngineConfig): Promise<TrainingBackend> | undefined;
}

/** Creates a {@link SharedEngine} with the settings of a config. */
export function createSharedEngine(options: {
  readonly catalog: Pick<Catalog, "createBackend">;
  readonly config: EngineConfig;
}): SharedEngine {
  const { catalog, config } = options;
  let started: Promise<TrainingBackend> | undefined;
  const keyOf = ({ model, training }: EngineConfig): string =>
    canonicalJson(JSON.parse(JSON.stringify(engineOptions(model, training))));
  return {
    backend: () => {
      started ??= catalog.createBackend(config);
      return started;
    },
    runningAs: (wanted) => (keyOf(wanted) === keyOf(config) ? started : undefined),
    [Symbol.asyncDispose]: async () => {
      const backend = await started?.catch(() => undefined);
      await backend?.[Symbol.asyncDispose]();
    },
  };
}

/** Returns the engine settings for a device that the command line names. */
export function engineOn(device = "auto"): EngineConfig {
  return parseTrainingConfig({ algorithm: { id: "sft" }, model: { path: "-", device: device as "auto" } });
}
