import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { parseTrainingConfig } from "../../trainers/config/training-config.ts";
import { canonicalJson } from "../core/taskset/canonical-json.ts";
import { engineOptions, type Rooms } from "./rooms.ts";
import type { RunConfig } from "./run-config.ts";

/** The part of a config that says how the embedded engine runs. */
export type EngineConfig = Pick<RunConfig, "model" | "training">;

/**
 * The embedded engine of a command. It starts when the first model needs it, and all models of the command run on it:
 * those of the same base have its weights in memory once. Disposing of it closes its models.
 */
export interface SharedEngine extends AsyncDisposable {
  backend(): Promise<TrainingBackend>;
  /** The engine, if it has started and runs as this config asks. */
  runningAs(config: EngineConfig): Promise<TrainingBackend> | undefined;
}

/** A {@link SharedEngine} that runs as the config asks. */
export function createSharedEngine(options: {
  readonly rooms: Pick<Rooms, "createBackend">;
  readonly config: EngineConfig;
}): SharedEngine {
  const { rooms, config } = options;
  let started: Promise<TrainingBackend> | undefined;
  const keyOf = ({ model, training }: EngineConfig): string =>
    canonicalJson(JSON.parse(JSON.stringify(engineOptions(model, training))));
  return {
    backend: () => {
      started ??= rooms.createBackend(config);
      return started;
    },
    runningAs: (wanted) => (keyOf(wanted) === keyOf(config) ? started : undefined),
    [Symbol.asyncDispose]: async () => {
      const backend = await started?.catch(() => undefined);
      await backend?.[Symbol.asyncDispose]();
    },
  };
}

/** How the engine runs on a device that the command line names. */
export function engineOn(device = "auto"): EngineConfig {
  return parseTrainingConfig({ algorithm: { id: "sft" }, model: { path: "-", device: device as "auto" } });
}
