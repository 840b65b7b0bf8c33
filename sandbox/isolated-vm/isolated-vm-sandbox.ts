import { availableParallelism } from "node:os";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";
import { startChildProcess } from "./child-connection.ts";
import { startIsolatedVmWorker } from "./start-worker.ts";
import { isolatedVmVersion } from "./version.ts";

/** The options of {@link createIsolatedVmSandbox}. */
export interface IsolatedVmSandboxOptions {
  /** Number of executions at a time. The number of processors by default. */
  readonly workers?: number;
  /** Number of extra processes that are kept ready. 0 by default. */
  readonly spares?: number;
  /** Number of jobs after which a process is replaced. 5,000 by default. */
  readonly maxJobs?: number;
  /** Memory in megabytes above which a process is replaced. 400 by default. */
  readonly maxRssMb?: number;
}

/**
 * Creates a sandbox for JavaScript and TypeScript. Each execution has a fresh V8 isolate in a child process, which has
 * no environment variables and may not write files. An isolate has no network, file system or Node. It has the
 * language, `console`, timers that do not wait, `require` and `import` of the request's other files and of Node's pure
 * modules (`crypto`, `assert`, `util`, `events`, `url` and others), and for input `readStdin()`, `process.stdin`,
 * `readline` or `require("fs").readFileSync(0, "utf8")`. TypeScript types are removed, not checked.
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
    start: (progress) => startIsolatedVmWorker({ connection: startChildProcess(), progress, maxJobs, maxRssMb }),
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
