import { availableParallelism } from "node:os";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";
import { startChildProcess } from "./child-connection.ts";
import { startIsolatedVmWorker } from "./start-worker.ts";
import { isolatedVmVersion } from "./version.ts";

/** How {@link createIsolatedVmSandbox} runs its processes. */
export interface IsolatedVmSandboxOptions {
  /** Executions at a time; one per processor by default. */
  readonly workers?: number;
  /** Processes kept ready beyond that. 0 by default. */
  readonly spares?: number;
  /** Jobs after which a process is replaced. 5,000 by default. */
  readonly maxJobs?: number;
  /** Memory of a process, in megabytes, after which it is replaced. 400 by default. */
  readonly maxRssMb?: number;
}

/**
 * A sandbox for JavaScript and TypeScript: each execution has a fresh V8 isolate, in one of a few child processes that
 * have no environment and may write no file. There is no network, no file system and no Node in an isolate: it has the
 * language, `console`, timers that do not wait, `require` and `import` of the request's other files, and for its input
 * `readStdin()` or `require("fs").readFileSync(0, "utf8")`. Types of TypeScript are dropped, not checked.
 */
export function createIsolatedVmSandbox(options: IsolatedVmSandboxOptions = {}): Sandbox {
  const { workers = availableParallelism(), spares = 0, maxJobs = 5_000, maxRssMb = 400 } = options;
  return new PooledSandbox({
    info: {
      backend: "isolated-vm",
      languages: ["javascript", "typescript"],
      version: installedVersion(),
      packages: [],
    },
    start: async ({ signal }) => {
      signal.throwIfAborted();
      return startIsolatedVmWorker({ connection: startChildProcess(), signal, maxJobs, maxRssMb });
    },
    workers,
    spares,
  });
}

function installedVersion(): string {
  try {
    return isolatedVmVersion();
  } catch (cause) {
    throw new LyceumError({
      code: "sandbox.unavailable",
      message:
        "isolated-vm is not installed. It is an optional dependency, which npm leaves out if it cannot be built.",
      hint: "Run npm install isolated-vm@7 (it needs Node 24 or newer), or choose the sandbox docker.",
      data: { package: "isolated-vm" },
      cause,
    });
  }
}
