import { canonicalJson } from "../src/core/taskset/canonical-json.ts";
import type { TrainingBackend } from "../trainers/backend/training-backend.ts";
import type { TinkerBackendOptions } from "../trainers/backends/tinker/index.ts";
import type { Catalog, EngineOptions } from "./catalog.ts";

/**
 * The embedded engine of a command. It starts when the first model needs it, and all models of the command run on it.
 * Models with the same base model share its weights. Disposal closes its models.
 */
export interface SharedEngine extends AsyncDisposable {
  backend(): Promise<TrainingBackend>;
  /** True if a model has needed it. */
  readonly isStarted: boolean;
  /** Opens a session on a server of the Tinker API. Equal options have one session. */
  remote(options: TinkerBackendOptions): Promise<TrainingBackend>;
  /** Returns the engine if it has started with these options. */
  runningAs(options: EngineOptions): Promise<TrainingBackend> | undefined;
}

/** Creates a {@link SharedEngine} with these options. */
export function createSharedEngine(options: {
  readonly catalog: Pick<Catalog, "createBackend" | "createTinkerBackend">;
  readonly engine: EngineOptions;
}): SharedEngine {
  const { catalog, engine } = options;
  let started: Promise<TrainingBackend> | undefined;
  const sessions = new Map<string, Promise<TrainingBackend>>();
  const keyOf = (given: EngineOptions): string => canonicalJson(JSON.parse(JSON.stringify(given)));
  return {
    get isStarted() {
      return started !== undefined;
    },
    backend: () => {
      started ??= catalog.createBackend(engine);
      return started;
    },
    remote: (wanted) => {
      const key = JSON.stringify(wanted);
      const session = sessions.get(key) ?? catalog.createTinkerBackend(wanted);
      sessions.set(key, session);
      return session;
    },
    runningAs: (wanted) => (keyOf(wanted) === keyOf(engine) ? started : undefined),
    [Symbol.asyncDispose]: async () => {
      for (const opened of [started, ...sessions.values()]) {
        const backend = await opened?.catch(() => undefined);
        await backend?.[Symbol.asyncDispose]();
      }
    },
  };
}
