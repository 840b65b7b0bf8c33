import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type Docker from "dockerode";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { tarArchive } from "../../../src/core/files/tar-archive.ts";
import { ownerLabel, removeContainer } from "../container.ts";
import { removeImage } from "../orphans.ts";
import { currentOwner } from "../owner.ts";
import { folderEntries } from "./tar.ts";

/** The options for building an image. */
export interface ImageBuild {
  /** The folder with the Dockerfile. */
  readonly context: string;
  /** The timeout in milliseconds. */
  readonly limitMs: number;
  /** True if the commands of the Dockerfile can use the network. */
  readonly network: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The label that identifies a build. */
const buildLabel = "lyceum.sandbox.build";

const quietMs = 1_000;

/** How often a build is begun if a layer of its cache is removed while it runs. */
const attempts = 5;
/** What the engine says if the removal of another image has taken a layer that the build uses. */
const lostLayer = /failed to get digest|no such image: sha256|unknown parent image|layer does not exist/i;

/**
 * Builds an image and returns its tag. Rejects with `sandbox.unavailable`, with the end of the build's output, if the
 * build fails or takes too long. The engine stops the build when the connection ends.
 */
export async function buildImage(docker: Docker, build: ImageBuild): Promise<string> {
  const { context, limitMs, network, signal } = build;
  const id = randomUUID();
  const image = `lyceum-workspace:${id}`;
  const timeout = AbortSignal.timeout(limitMs);
  const stopped = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const options = {
    t: image,
    rm: true,
    forcerm: true,
    labels: { [ownerLabel]: JSON.stringify(currentOwner()), [buildLabel]: id },
    ...(network ? {} : { networkmode: "none" }),
    abortSignal: stopped,
  };
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        const progress = (await docker.buildImage(tarArchive(folderEntries(context)), options)) as Readable;
        await finished(progress, stopped);
        return image;
      } catch (error) {
        if (attempt === attempts || stopped.aborted || !lostLayer.test((error as Error).message)) throw error;
      }
    }
  } catch (cause) {
    if (stopped.aborted) await removeRest(docker, id);
    signal?.throwIfAborted();
    const what = timeout.aborted ? `took longer than ${limitMs / 1000} s` : `failed: ${(cause as Error).message}`;
    throw new LyceumError({
      code: "sandbox.unavailable",
      message: `The build of ${context} ${what}`,
      hint: "Try it by hand: docker build --network none FOLDER. Its first image must be on this machine or reachable.",
      cause,
    });
  }
}

/** Reads the output of a build to its end. Throws with its last lines if the build fails. */
async function finished(progress: Readable, signal: AbortSignal): Promise<void> {
  const stop = (): void => void progress.destroy(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    let text = "";
    let rest = "";
    for await (const part of progress) {
      const lines = (rest + String(part)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.trim() === "") continue;
        const { stream = "", error } = JSON.parse(line) as { readonly stream?: string; readonly error?: string };
        text = (text + stream).slice(-1_000);
        if (error !== undefined) throw new Error(`${error}\n${text}`);
      }
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Removes leftovers of a cancelled build. Docker finishes the current instruction after we disconnect. */
async function removeRest(docker: Docker, id: string): Promise<void> {
  const filters = { label: [`${buildLabel}=${id}`] };
  let quietSince = performance.now();
  while (performance.now() - quietSince < quietMs) {
    const containers = await docker.listContainers({ all: true, filters });
    const images = await docker.listImages({ filters });
    for (const { Id } of containers) await removeContainer(docker, Id);
    for (const { Id } of images) await removeImage(docker, Id);
    if (containers.length + images.length > 0) quietSince = performance.now();
    await wait(100);
  }
}
