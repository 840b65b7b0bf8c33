import { relative } from "node:path";
import { cwd } from "node:process";
import { fileURLToPath } from "node:url";
import type Docker from "dockerode";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** Connects to a Docker engine. Rejects with `sandbox.unavailable` if none answers. */
export async function connectEngine(connection: Docker.DockerOptions | undefined): Promise<Docker> {
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

/**
 * Rejects with `sandbox.unavailable`, and with instructions to build the image, if an engine does not have the image.
 * `recipe` is the folder of the Dockerfile. `otherwise` names an alternative.
 */
export async function requireImage(options: {
  readonly docker: Docker;
  readonly image: string;
  readonly recipe: URL;
  readonly otherwise?: string;
}): Promise<void> {
  const { docker, image, recipe, otherwise } = options;
  try {
    await docker.getImage(image).inspect();
  } catch (cause) {
    const build = `Build it: docker build -t ${image} ${relative(cwd(), fileURLToPath(recipe))}`;
    const hint = otherwise === undefined ? build : `${build}. ${otherwise}`;
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
