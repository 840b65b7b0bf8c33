import { LyceumError } from "../../src/contract/errors/index.ts";
import type { NamedDefinition } from "./local-runner.ts";

/** The environments that a module has opened in a worker thread. */
export interface OpenedEnvironments {
  readonly environments: readonly NamedDefinition[];
  /** Closes the resources that the environments share. Called once, after their sessions are closed. */
  close?(): Promise<void>;
}

/** A module whose environments {@link workerRunner} runs. Each worker thread imports it. */
export interface EnvironmentModule<Data = unknown> {
  /** Opens the environments in this thread. `data` is a copy of the runner's `data`. */
  openEnvironments(data: Data): Promise<OpenedEnvironments>;
}

/** Imports a module and opens its environments. Throws `config.invalid` if it has no `openEnvironments`. */
export async function openModule(module: string, data: unknown): Promise<OpenedEnvironments> {
  const { openEnvironments } = (await import(module)) as Partial<EnvironmentModule>;
  if (typeof openEnvironments === "function") return openEnvironments(data);
  throw new LyceumError({
    code: "config.invalid",
    message: `The module ${module} exports no function openEnvironments.`,
    hint: "Export a function openEnvironments(data) that returns the environments.",
    data: { module },
  });
}
