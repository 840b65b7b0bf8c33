import { availableParallelism } from "node:os";
import type Docker from "dockerode";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import { startWithinLimit } from "../pool/start-within-limit.ts";
import type { Sandbox } from "../sandbox.ts";
import { runnerCommand, runnerEnvironment } from "../zygote/runner-source.ts";
import { slotUid } from "../zygote/slot-uids.ts";
import { ZygoteWorker } from "../zygote/zygote-worker.ts";
import {
  type ContainerLimits,
  type ContainerProgram,
  defaultContainerLimits,
  startContainer,
  startLimitMs,
} from "./container.ts";
import { connectEngine, requireImage } from "./engine.ts";
import { removeOrphans } from "./orphans.ts";
import { currentOwner } from "./owner.ts";

/** The options of {@link createDockerSandbox}. */
export interface DockerSandboxOptions {
  /** Number of executions at a time, each in its own container. The number of processors by default. */
  readonly workers?: number;
  /** Number of extra containers that are kept ready. 0 by default. */
  readonly spares?: number;
  /** An image with Python 3.9 or newer. `lyceum-sandbox` by default. */
  readonly image?: string;
  /** Packages of the image that code may import. They are imported ahead. `["numpy"]` by default. */
  readonly packages?: readonly string[];
  /** The engine's socket or address. By default, what the environment variables (`DOCKER_HOST`) say. */
  readonly connection?: Docker.DockerOptions;
  /** The limits of one container. They must be above the limits of one execution. */
  readonly container?: Partial<ContainerLimits>;
  readonly signal?: AbortSignal;
}

/**
 * Creates a sandbox that runs Python in Docker containers without network or root. Only `/tmp` is writable. Containers
 * of killed processes are removed first. Rejects with `sandbox.unavailable` if no engine answers or the image is
 * missing.
 */
export async function createDockerSandbox(options: DockerSandboxOptions = {}): Promise<Sandbox> {
  const { workers = availableParallelism(), spares = 0, image = "lyceum-sandbox", packages = ["numpy"] } = options;
  const docker = await connectEngine(options.connection);
  await removeOrphans(docker);
  await requireImage({
    docker,
    image,
    recipe: new URL(".", import.meta.url),
    otherwise: "Or pull any image with Python 3.9 or newer, such as python:3.13-slim, and name it as `image`.",
  });
  const owner = currentOwner();
  const limits = { ...defaultContainerLimits, ...withoutUndefined(options.container ?? {}) };
  // The runner itself switches to other users. It keeps only the capabilities that this needs.
  const program: ContainerProgram = {
    command: await runnerCommand(),
    environment: runnerEnvironment,
    user: "0:0",
    capabilities: ["SETUID", "SETGID", "KILL"],
  };
  let slot = 0;
  const startOnce = async (signal: AbortSignal): Promise<ZygoteWorker> => {
    const settings = { uid: slotUid(slot++), packages };
    signal.throwIfAborted();
    const runner = await startContainer({ docker, image, owner, limits, program });
    return ZygoteWorker.start({ runner, settings, signal });
  };
  const start = (signal: AbortSignal): Promise<ZygoteWorker> =>
    startWithinLimit({ start: startOnce, limitMs: startLimitMs, signal });
  // The first worker reports what the image contains.
  await using first = await start(options.signal ?? new AbortController().signal);
  const { python, packages: found } = first.greeting;
  return new PooledSandbox({
    info: { backend: "docker", languages: ["python"], version: `${image}, Python ${python}`, packages: found },
    start: ({ signal }) => start(signal),
    workers,
    spares,
    hasStarted: true,
  });
}
