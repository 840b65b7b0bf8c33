import type { TerminalViewOptions } from "../reports/training/index.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../trainers/backend/training-backend.ts";
import type { TrainingConfig } from "../trainers/config/training-config.ts";
import { type Catalog, engineOptions } from "./catalog.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import type { NamedAgents } from "./run-agents.ts";
import type { RunConfig } from "./run-config.ts";

/** The options of a run on the command line. */
export interface TrainCommandOptions {
  readonly catalog: Catalog;
  readonly view: TerminalViewOptions;
  readonly signal: AbortSignal;
  /** Returns the command line that resumes the run in `output`. */
  readonly resumeCommand: (output: string) => string;
}

/** Everything that is needed for one run, or for one stage of it. */
export interface PreparedRun {
  /** The name of the stage. */
  readonly name: string | undefined;
  readonly config: RunConfig;
  /** The part of the config for the trainer. */
  readonly training: TrainingConfig;
  readonly environment: EnvironmentDefinition;
  readonly agents: NamedAgents;
  readonly environmentOptions: Readonly<Record<string, unknown>>;
  readonly algorithms: readonly AlgorithmDefinition[];
  readonly output: string;
  readonly resume: boolean;
}

/** Opens the backend of a run: the embedded engine or a server. On the engine, frozen models with the same base model share its weights with the trained models. */
export async function openBackend(
  config: RunConfig,
  {
    catalog,
    opener,
    signal,
  }: { readonly catalog: Catalog; readonly opener: PolicyOpener; readonly signal: AbortSignal },
): Promise<AsyncDisposable & { readonly backend: TrainingBackend }> {
  const { backend } = config;
  if (backend.type === "tinker") {
    const { type: _, ...options } = backend;
    const remote = await catalog.createTinkerBackend({ ...options, signal });
    return { backend: remote, [Symbol.asyncDispose]: () => remote[Symbol.asyncDispose]() };
  }
  const options = engineOptions(config);
  const shared = await opener.engine.runningAs(options);
  if (shared !== undefined) return { backend: shared, [Symbol.asyncDispose]: async () => {} };
  const own = await catalog.createBackend(options);
  return { backend: own, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}
