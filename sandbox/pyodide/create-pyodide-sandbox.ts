import { availableParallelism } from "node:os";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";
import { PyodideWorker } from "./pyodide-worker.ts";
import { findPyodide, provideSnapshot } from "./snapshot.ts";

/** The options of {@link createPyodideSandbox}. */
export interface PyodideSandboxOptions {
  /** Number of executions at a time. The number of processors by default. */
  readonly workers?: number;
  /** Number of extra processes that are kept ready, so that replacing a killed process takes no time. 1 by default. */
  readonly spares?: number;
  /** The folder of the snapshot of a started Python (30 MB). The user's cache folder by default. */
  readonly cacheFolder?: string;
  readonly signal?: AbortSignal;
}

/**
 * Creates a sandbox that runs Python without Docker: Pyodide (CPython in WebAssembly) in locked-down processes. Code
 * has only the standard library, and no threads, processes or network. Every execution starts from the same memory. A
 * worker takes about 250 MB, and a worker that judges takes as much again.
 *
 * Rejects with `sandbox.unavailable` if Python does not start. The first sandbox on a machine takes a few seconds.
 */
export async function createPyodideSandbox(options: PyodideSandboxOptions = {}): Promise<Sandbox> {
  const pyodide = await findPyodide();
  const { cacheFolder, signal } = options;
  const snapshot = await provideSnapshot({ pyodide, cacheFolder, signal });
  return new PooledSandbox({
    info: {
      backend: "pyodide",
      languages: ["python"],
      version: `pyodide ${pyodide.version}, Python 3.14`,
      packages: [],
    },
    workers: options.workers ?? availableParallelism(),
    spares: options.spares ?? 1,
    start: (progress) => PyodideWorker.start({ pyodide: pyodide.folder, snapshot }, progress),
  });
}
