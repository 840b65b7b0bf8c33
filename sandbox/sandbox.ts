import type { ExecuteRequest, ExecuteResult, Language } from "./execution.ts";

/** Runs code in isolation. One instance serves many executions at a time; closing it ends every process it started. */
export interface Sandbox extends AsyncDisposable {
  readonly info: SandboxInfo;
  /**
   * Runs a request and resolves with what was observed, whatever the code does. Rejects with `sandbox.request` where
   * the request itself cannot be run (another language, a missing entry), `sandbox.closed` after closing.
   */
  execute(request: ExecuteRequest): Promise<ExecuteResult>;
  /** Starts the workers, so that the first executions do not wait. Rejects with `sandbox.unavailable`. */
  warmUp(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Counts since the start. */
  stats(): SandboxStats;
}

/** What a sandbox is. */
export interface SandboxInfo {
  readonly backend: "isolated-vm" | "pyodide" | "bubblewrap" | "docker";
  readonly languages: readonly Language[];
  /** Of the backend and of its languages, such as `isolated-vm 7.0.1, V8 13.6`: verdicts may differ between two. */
  readonly version: string;
  /** Packages beside the standard library that code may import. */
  readonly packages: readonly string[];
}

/** Counts of a sandbox since its start. */
export interface SandboxStats {
  readonly executions: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly workersStarted: number;
  readonly workersKilled: number;
  /** Executions that wait for a worker now. */
  readonly waiting: number;
  readonly running: number;
}
