import type { ExecuteRequest, ExecuteResult, Language } from "./execution.ts";

/**
 * Runs code in isolation. One instance runs many executions at a time. Closing it ends every process that it started.
 */
export interface Sandbox extends AsyncDisposable {
  readonly specificationVersion: "v1";
  readonly info: SandboxInfo;
  /**
   * Runs a request and resolves with the observations. Errors of the code are observations too. Rejects with
   * `sandbox.request` if the request cannot be run (an unsupported language, a missing entry), and with
   * `sandbox.closed` after closing.
   */
  execute(request: ExecuteRequest): Promise<ExecuteResult>;
  /** Starts the workers, so that the first executions do not wait. Rejects with `sandbox.unavailable`. */
  warmUp(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Returns the counts since the start. */
  stats(): SandboxStats;
}

/** The properties of a sandbox. */
export interface SandboxInfo {
  readonly backend: "isolated-vm" | "pyodide" | "bubblewrap" | "docker";
  readonly languages: readonly Language[];
  /**
   * The version of the backend and its languages, such as `isolated-vm 7.0.1, V8 13.6`. Verdicts may differ between
   * versions.
   */
  readonly version: string;
  /** The packages that code may import in addition to the standard library. */
  readonly packages: readonly string[];
}

/** Counts of a sandbox since its start. */
export interface SandboxStats {
  readonly executions: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly workersStarted: number;
  readonly workersKilled: number;
  /** Executions that currently wait for a worker. */
  readonly waiting: number;
  readonly running: number;
}
