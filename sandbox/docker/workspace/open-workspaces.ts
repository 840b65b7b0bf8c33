import type Docker from "dockerode";
import { untilAborted } from "../../../src/core/concurrency/until-aborted.ts";
import { connectEngine } from "../engine.ts";
import { removeImage, removeOrphans } from "../orphans.ts";
import { buildImage, type ImageBuild } from "./build-image.ts";
import { answered, createWorkspace, type Workspace, type WorkspaceOptions } from "./workspace.ts";

/** Builds images and creates workspaces of them on one Docker engine. Closing it removes the built images. */
export interface Workspaces extends AsyncDisposable {
  /**
   * Returns the image of a folder with a Dockerfile. It is built once for each `key`, such as a hash of the folder's
   * content. An aborted signal ends the wait, and the build goes on for other callers. Rejects with
   * `sandbox.unavailable` if the build fails or takes too long.
   */
  image(build: ImageBuild & { readonly key: string }): Promise<string>;
  /** Creates a container that is not started yet. Rejects with `sandbox.unavailable` if the engine fails. */
  create(options: WorkspaceOptions): Promise<Workspace>;
}

/**
 * Connects to a Docker engine for workspaces: containers in which an agent runs commands. Containers and images of
 * killed processes are removed first. Rejects with `sandbox.unavailable` if no engine answers.
 */
export async function openWorkspaces(connection?: Docker.DockerOptions): Promise<Workspaces> {
  const docker = await connectEngine(connection);
  await answered(() => removeOrphans(docker));
  const images = new Map<string, Promise<string>>();
  const closing = new AbortController();
  return {
    image: ({ key, signal, ...build }) => {
      const known = images.get(key);
      const building = known ?? buildImage(docker, { ...build, signal: closing.signal });
      images.set(key, building);
      // The next caller tries again.
      if (known === undefined) building.catch(() => images.delete(key));
      return signal === undefined ? building : untilAborted(building, signal);
    },
    create: (options) => createWorkspace(docker, options),
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      const built = await Promise.allSettled(images.values());
      images.clear();
      for (const image of built) if (image.status === "fulfilled") await removeImage(docker, image.value);
    },
  };
}
