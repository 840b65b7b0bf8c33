import { availableParallelism, constants } from "node:os";
import type Docker from "dockerode";
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

/** How {@link createDockerJavaScriptSandbox} runs containers. */
export interface DockerJavaScriptSandboxOptions {
  /** Executions at a time, each in a container of its own. As many as there are processors by default. */
  readonly workers?: number;
  /** Containers kept ready beyond that. 0 by default. */
  readonly spares?: number;
  /** An image with Node 24 and, in `/lyceum/node_modules`, isolated-vm. `lyceum-sandbox-javascript` by default. */
  readonly image?: string;
  /** The engine's socket or address; where the environment (`DOCKER_HOST`) says, by default. */
  readonly connection?: Docker.DockerOptions;
  /** What one container may use; above the limits of any one execution. */
  readonly container?: Partial<ContainerLimits>;
  readonly signal?: AbortSignal;
}

const maxJobs = 5_000;
const maxRssMb = 400;

/** Nobody, with no powers: a child needs no file but its own program, which comes by its input. */
const program: ContainerProgram = {
  command: ["node", ...childFlags, "--input-type=module", "--eval", childBootstrap],
  environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  user: "65534:65534",
  capabilities: [],
};

/**
 * JavaScript and TypeScript by isolated-vm in Docker containers: each execution has a fresh V8 isolate, in a process
 * that is alone in a container without network, root or anything writable but `/tmp`. What breaks out of V8 is still in
 * the container. Containers that a killed process left behind are removed first. Rejects with `sandbox.unavailable`
 * where no engine answers or the image is missing.
 */
export async function createDockerJavaScriptSandbox(options: DockerJavaScriptSandboxOptions = {}): Promise<Sandbox> {
  const { workers = availableParallelism(), spares = 0, image = "lyceum-sandbox-javascript" } = options;
  const docker = await connectEngine(options.connection);
  await removeOrphans(docker);
  await requireImage({ docker, image, recipe: new URL("./javascript/", import.meta.url) });
  const owner = currentOwner();
  const limits = { ...defaultContainerLimits, ...options.container };
  const sources = frame(await readChildSources());
  const startOnce = async (signal: AbortSignal): Promise<IsolatedVmWorker> => {
    signal.throwIfAborted();
    const container = await startContainer({ docker, image, owner, limits, program });
    container.input.write(sources);
    return startIsolatedVmWorker({ connection: connectionOf(container), signal, maxJobs, maxRssMb });
  };
  const start = (signal: AbortSignal): Promise<IsolatedVmWorker> =>
    startWithinLimit({ start: startOnce, limitMs: startLimitMs, signal });
  // The first tells what is in the image.
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

function connectionOf({ input, output, complaints, kill, exited, outOfMemory }: RunningContainer): ChildConnection {
  const ended = exited.then((code) => {
    const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
    return signal ?? `code ${code}`;
  });
  return { input, output, complaints, kill, ended, outOfMemory };
}
