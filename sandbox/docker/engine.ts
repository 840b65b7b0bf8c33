import type Docker from "dockerode";
import { LyceumError } from "../../src/errors/index.ts";

/** A Docker engine that answers. Rejects with `sandbox.unavailable` where none does. */
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

/** Rejects with `sandbox.unavailable`, and a hint how to get it, where an engine does not have an image. */
export async function requireImage(options: {
  readonly docker: Docker;
  readonly image: string;
  readonly hint: string;
}): Promise<void> {
  const { docker, image, hint } = options;
  try {
    await docker.getImage(image).inspect();
  } catch (cause) {
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
