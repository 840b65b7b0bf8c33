import { availableParallelism } from "node:os";
import type Docker from "dockerode";
import { LyceumError } from "../../src/errors/index.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";
import { slotUid } from "../zygote/slot-uids.ts";
import { ZygoteWorker } from "../zygote/zygote-worker.ts";
import { type ContainerLimits, startContainer } from "./container.ts";
import { removeOrphans } from "./orphans.ts";
import { currentOwner } from "./owner.ts";

/** How {@link createDockerSandbox} runs containers. */
export interface DockerSandboxOptions {
  /** Executions at a time, each in a container of its own. As many as there are processors by default. */
  readonly workers?: number;
  /** Containers kept ready beyond that. 0 by default. */
  readonly spares?: number;
  /** Any image with Python 3.9 or newer. `lyceum-sandbox` by default. */
  readonly image?: string;
  /** Packages of the image that code may import, imported ahead. `["numpy"]` by default. */
  readonly packages?: readonly string[];
  /** The engine's socket or address; where the environment (`DOCKER_HOST`) says, by default. */
  readonly connection?: Docker.DockerOptions;
  /** What one container may use; above the limits of any one execution. */
  readonly container?: Partial<ContainerLimits>;
  readonly signal?: AbortSignal;
}

const defaultContainer: ContainerLimits = { memoryMb: 1_024, processes: 128, temporaryMb: 64 };

/**
 * Python in Docker containers without network, root or anything writable but `/tmp`. Containers that a killed process
 * left behind are removed first. Rejects with `sandbox.unavailable` where no engine answers or the image is missing.
 */
export async function createDockerSandbox(options: DockerSandboxOptions = {}): Promise<Sandbox> {
  const { workers = availableParallelism(), spares = 0, image = "lyceum-sandbox", packages = ["numpy"] } = options;
  const docker = await connect(options.connection);
  await removeOrphans(docker);
  await requireImage(docker, image);
  const owner = currentOwner();
  const limits = { ...defaultContainer, ...options.container };
  let slot = 0;
  const start = async (signal: AbortSignal): Promise<ZygoteWorker> => {
    const settings = { uid: slotUid(slot++), packages };
    signal.throwIfAborted();
    return ZygoteWorker.start({ runner: await startContainer({ docker, image, owner, limits }), settings, signal });
  };
  // The first tells what is in the image.
  await using first = await start(options.signal ?? new AbortController().signal);
  const { python, packages: found } = first.greeting;
  return new PooledSandbox({
    info: { backend: "docker", languages: ["python"], version: `${image}, Python ${python}`, packages: found },
    start: ({ signal }) => start(signal),
    workers,
    spares,
  });
}

async function connect(connection: Docker.DockerOptions | undefined): Promise<Docker> {
  const { default: Engine } = await import("dockerode").catch((cause: unknown) => {
    throw unavailable({ message: "The package dockerode is missing.", hint: "Run: npm install dockerode", cause });
  });
  const docker = new Engine(connection);
  try {
    await docker.ping();
  } catch (cause) {
    throw unavailable({
      message: `No Docker engine answers: ${(cause as Error).message}`,
      hint: "Start Docker, or set DOCKER_HOST, or choose another sandbox.",
      cause,
    });
  }
  return docker;
}

async function requireImage(docker: Docker, image: string): Promise<void> {
  try {
    await docker.getImage(image).inspect();
  } catch (cause) {
    const hint = [
      "In a clone of Lyceum, build it: docker build -t lyceum-sandbox sandbox/docker.",
      "Or pull any image with Python 3.9 or newer, such as python:3.13-slim, and name it as `image`.",
    ].join(" ");
    throw unavailable({ message: `Docker has no image "${image}".`, hint, cause });
  }
}

function unavailable(options: {
  readonly message: string;
  readonly hint: string;
  readonly cause: unknown;
}): LyceumError {
  return new LyceumError({ code: "sandbox.unavailable", ...options });
}
