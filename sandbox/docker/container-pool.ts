import { availableParallelism } from "node:os";
import type Docker from "dockerode";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import { firstStart, type StartProgress, watchedStart } from "../pool/watched-start.ts";
import type { Worker } from "../pool/worker.ts";
import type { Sandbox, SandboxInfo } from "../sandbox.ts";
import {
  type ContainerLimits,
  type ContainerProgram,
  defaultContainerLimits,
  type RunningContainer,
  startContainer,
} from "./container.ts";
import { connectEngine, requireImage } from "./engine.ts";
import { removeOrphans } from "./orphans.ts";
import { currentOwner } from "./owner.ts";

/** The options of the sandboxes in Docker containers. */
export interface ContainerPoolOptions {
  /** Number of executions at a time, each in its own container. The number of processors by default. */
  readonly workers?: number;
  /** Number of extra containers that are kept ready. 0 by default. */
  readonly spares?: number;
  /** The image. `lyceum-sandbox` for Python and `lyceum-sandbox-javascript` for JavaScript by default. */
  readonly image?: string;
  /** The engine's socket or address. By default, that of the environment variables (`DOCKER_HOST`). */
  readonly connection?: Docker.DockerOptions;
  /** The limits of one container. They must be above the limits of one execution. */
  readonly container?: Partial<ContainerLimits>;
  readonly signal?: AbortSignal;
}

/**
 * Creates a sandbox whose workers are containers of one image. Containers of killed processes are removed first.
 * Rejects with `sandbox.unavailable` if no engine answers or the image is missing.
 */
export async function createContainerPool<W extends Worker>(
  options: ContainerPoolOptions & { readonly image: string },
  parts: {
    /** The folder with the image's Dockerfile. */
    readonly recipe: URL;
    /** What to do instead of building the image. */
    readonly otherwise?: string;
    readonly program: ContainerProgram;
    /** Opens the worker in a container that was started. */
    readonly open: (container: RunningContainer, progress: StartProgress) => Promise<W>;
    /** Describes the sandbox. The first worker reports what the image contains. */
    readonly describe: (first: W) => Omit<SandboxInfo, "backend">;
  },
): Promise<Sandbox> {
  const { workers = availableParallelism(), spares = 0, image } = options;
  const { recipe, otherwise, program, open, describe } = parts;
  const { signal } = options;
  const prepare = async ({ step }: StartProgress): Promise<Docker> => {
    const engine = await connectEngine(options.connection);
    step();
    await removeOrphans(engine);
    step();
    await requireImage({ docker: engine, image, recipe, otherwise });
    return engine;
  };
  const docker = await watchedStart({ start: prepare, signal });
  const owner = currentOwner();
  const limits = { ...defaultContainerLimits, ...withoutUndefined(options.container ?? {}) };
  const start = async (progress: StartProgress): Promise<W> =>
    open(await startContainer({ docker, image, owner, limits, program, progress }), progress);
  const first = await firstStart({ start, signal });
  return new PooledSandbox({
    info: { backend: "docker", ...describe(first) },
    start,
    workers,
    spares,
    first,
  });
}
