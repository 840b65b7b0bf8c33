import { availableParallelism } from "node:os";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";
import { PyodideWorker } from "./pyodide-worker.ts";
import { findPyodide, provideSnapshot } from "./snapshot.ts";

/** How many processes {@link createPyodideSandbox} keeps, and where its snapshot lies. */
export interface PyodideSandboxOptions {
  /** Executions at a time; as many as there are processors, by default. */
  readonly workers?: number;
  /** Processes kept ready, so that replacing a killed one costs no wait; 1 by default. */
  readonly spares?: number;
  /** Where the snapshot of a started Python (30 MB) is kept; the user's cache folder by default. */
  readonly cacheFolder?: string;
}

/**
 * Python without Docker: Pyodide (CPython in WebAssembly) in locked-down processes, with the standard library and
 * nothing else: no threads, no processes, no network. Every execution starts from the same memory. It takes about
 * 250 MB a worker, and as much again for one that judges.
 *
 * Rejects with `sandbox.unavailable` where Python does not start. The first sandbox on a machine takes a few seconds.
 */
export async function createPyodideSandbox(options: PyodideSandboxOptions = {}): Promise<Sandbox> {
  const pyodide = await findPyodide();
  const snapshot = await provideSnapshot(pyodide, options.cacheFolder);
  return new PooledSandbox({
    info: {
      backend: "pyodide",
      languages: ["python"],
      version: `pyodide ${pyodide.version}, Python 3.14`,
      packages: [],
    },
    workers: options.workers ?? availableParallelism(),
    spares: options.spares ?? 1,
    start: ({ signal }) => PyodideWorker.start({ pyodide: pyodide.folder, snapshot }, signal),
  });
}
