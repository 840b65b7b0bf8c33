import { availableParallelism, constants } from "node:os";
import type Docker from "dockerode";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import type { ChildConnection } from "../isolated-vm/child-connection.ts";
import { childFlags } from "../isolated-vm/child-connection.ts";
import { childBootstrap, readChildSources } from "../isolated-vm/child-sources.ts";
import { type IsolatedVmWorker, startIsolatedVmWorker } from "../isolated-vm/start-worker.ts";
import { frame } from "../pool/frames.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import { startWithinLimit } from "../pool/start-within-limit.ts";
import type { Sandbox } from "../sandbox.ts";
import {
  type ContainerLimits,
  type ContainerProgram,
  defaultContainerLimits,
  type RunningContainer,
  startContainer,
  startLimitMs,
} from "./container.ts";
import { connectEngine, requireImage } from "./engine.ts";
import { removeOrphans } from "./orphans.ts";
import { currentOwner } from "./owner.ts";

/** The options of {@link createDockerJavaScriptSandbox}. */
export interface DockerJavaScriptSandboxOptions {
  /** Number of executions at a time, each in its own container. The number of processors by default. */
  readonly workers?: number;
  /** Number of extra containers that are kept ready. 0 by default. */
  readonly spares?: number;
  /** An image with Node 24, and with isolated-vm in `/lyceum/node_modules`. `lyceum-sandbox-javascript` by default. */
  readonly image?: string;
  /** The engine's socket or address. By default, what the environment variables (`DOCKER_HOST`) say. */
  readonly connection?: Docker.DockerOptions;
  /** The limits of one container. They must be above the limits of one execution. */
  readonly container?: Partial<ContainerLimits>;
  readonly signal?: AbortSignal;
}

const maxJobs = 5_000;
const maxRssMb = 400;

/** Runs as nobody, without capabilities. The child needs no files: its program arrives on its standard input. */
const program: ContainerProgram = {
  command: ["node", ...childFlags, "--input-type=module", "--eval", childBootstrap],
  environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  user: "65534:65534",
  capabilities: [],
};

/**
 * Creates a sandbox that runs JavaScript and TypeScript with isolated-vm in Docker containers. Each execution has a
 * fresh V8 isolate in a process that is alone in its container, without network or root. Only `/tmp` is writable. Code
 * that breaks out of V8 is still in the container. Containers of killed processes are removed first. Rejects with
 * `sandbox.unavailable` if no engine answers or the image is missing.
 */
export async function createDockerJavaScriptSandbox(options: DockerJavaScriptSandboxOptions = {}): Promise<Sandbox> {
  const { workers = availableParallelism(), spares = 0, image = "lyceum-sandbox-javascript" } = options;
  const docker = await connectEngine(options.connection);
  await removeOrphans(docker);
  await requireImage({ docker, image, recipe: new URL("./javascript/", import.meta.url) });
  const owner = currentOwner();
  const limits = { ...defaultContainerLimits, ...withoutUndefined(options.container ?? {}) };
  const sources = frame(await readChildSources());
  const startOnce = async (signal: AbortSignal): Promise<IsolatedVmWorker> => {
    signal.throwIfAborted();
    const container = await startContainer({ docker, image, owner, limits, program });
    container.input.write(sources);
    return startIsolatedVmWorker({ connection: connectionOf(container), signal, maxJobs, maxRssMb });
  };
  const start = (signal: AbortSignal): Promise<IsolatedVmWorker> =>
    startWithinLimit({ start: startOnce, limitMs: startLimitMs, signal });
  // The first worker reports what the image contains.
  await using first = await start(options.signal ?? new AbortController().signal);
  const version = `${image}, ${first.version}`;
  return new PooledSandbox({
    info: { backend: "docker", languages: ["javascript", "typescript"], version, packages: [] },
    start: ({ signal }) => start(signal),
    workers,
    spares,
    hasStarted: true,
  });
}

function connectionOf({ input, output, stderrText, kill, exited, outOfMemory }: RunningContainer): ChildConnection {
  const ended = exited.then((code) => {
    const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
    return signal ?? `code ${code}`;
  });
  return { input, output, stderrText, kill, ended, outOfMemory };
}
