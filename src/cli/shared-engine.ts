import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import type { OnnxBackendOptions } from "../../trainers/backends/onnx/index.ts";
import { canonicalJson } from "../core/taskset/canonical-json.ts";
import type { Catalog } from "./catalog.ts";

/**
 * The embedded engine of a command. It starts when the first model needs it, and all models of the command run on it.
 * Models with the same base model share its weights. Disposal closes its models.
 */
export interface SharedEngine extends AsyncDisposable {
  backend(): Promise<TrainingBackend>;
  /** Returns the engine if it has started with these options. */
  runningAs(options: OnnxBackendOptions): Promise<TrainingBackend> | undefined;
}

/** Creates a {@link SharedEngine} with these options. */
export function createSharedEngine(options: {
  readonly catalog: Pick<Catalog, "createBackend">;
  readonly engine: OnnxBackendOptions;
}): SharedEngine {
  const { catalog, engine } = options;
  let started: Promise<TrainingBackend> | undefined;
  const keyOf = (given: OnnxBackendOptions): string => canonicalJson(JSON.parse(JSON.stringify(given)));
  return {
    backend: () => {
      started ??= catalog.createBackend(engine);
      return started;
    },
    runningAs: (wanted) => (keyOf(wanted) === keyOf(engine) ? started : undefined),
    [Symbol.asyncDispose]: async () => {
      const backend = await started?.catch(() => undefined);
      await backend?.[Symbol.asyncDispose]();
    },
  };
}
