import type { Sandbox } from "../sandbox.ts";
import { runnerCommand, runnerEnvironment } from "../zygote/runner-source.ts";
import { slotUid } from "../zygote/slot-uids.ts";
import { ZygoteWorker } from "../zygote/zygote-worker.ts";
import { type ContainerPoolOptions, createContainerPool } from "./container-pool.ts";

/** The options of {@link createDockerSandbox}. The image has Python 3.9 or newer. */
export interface DockerSandboxOptions extends ContainerPoolOptions {
  /** Packages of the image that code may import. They are imported ahead. `["numpy"]` by default. */
  readonly packages?: readonly string[];
}

/**
 * Creates a sandbox that runs Python in Docker containers without network or root. Only `/tmp` is writable. Containers
 * of killed processes are removed first. Rejects with `sandbox.unavailable` if no engine answers or the image is
 * missing.
 */
export async function createDockerSandbox(options: DockerSandboxOptions = {}): Promise<Sandbox> {
  const { image = "lyceum-sandbox", packages = ["numpy"] } = options;
  let slot = 0;
  return createContainerPool(
    { ...options, image },
    {
      recipe: new URL(".", import.meta.url),
      otherwise: "Or pull any image with Python 3.9 or newer, such as python:3.13-slim, and name it as `image`.",
      // The runner itself switches to other users. It keeps only the capabilities that this needs.
      program: {
        command: await runnerCommand(),
        environment: runnerEnvironment,
        user: "0:0",
        capabilities: ["SETUID", "SETGID", "KILL"],
      },
      open: (runner, progress) =>
        ZygoteWorker.start({ runner, settings: { uid: slotUid(slot++), packages }, progress }),
      describe: ({ greeting }) => ({
        languages: ["python"],
        version: `${image}, Python ${greeting.python}`,
        packages: greeting.packages,
      }),
    },
  );
}
