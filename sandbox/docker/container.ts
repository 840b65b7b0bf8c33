import { type Duplex, PassThrough } from "node:stream";
import type Docker from "dockerode";
import { runnerCommand, runnerEnvironment } from "../zygote/runner-source.ts";
import type { RunnerProcess } from "../zygote/zygote-worker.ts";
import type { Owner } from "./owner.ts";

/** What a container may use, all its processes together. */
export interface ContainerLimits {
  readonly memoryMb: number;
  readonly processes: number;
  readonly temporaryMb: number;
}

/** The label that says whose a container is. */
export const ownerLabel = "lyceum.sandbox.owner";

/** Starts a container with the runner in it, attached to its streams; it ends and is removed when these close. */
export async function startContainer(options: {
  readonly docker: Docker;
  readonly image: string;
  readonly owner: Owner;
  readonly limits: ContainerLimits;
}): Promise<RunnerProcess> {
  const { docker, image, owner, limits } = options;
  const container = await docker.createContainer(await containerOptions({ image, owner, limits }));
  const remove = (): Promise<void> => removeContainer(docker, container.id);
  try {
    const streams = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
    const stream = (await container.attach(streams)) as Duplex;
    const output = new PassThrough();
    const errors = new PassThrough();
    docker.modem.demuxStream(stream, output, errors);
    let complaints = "";
    errors.on("data", (chunk: Buffer) => {
      complaints = (complaints + chunk.toString()).slice(-2_000);
    });
    for (const event of ["end", "close"] as const) stream.on(event, () => output.end());
    stream.on("error", (error) => output.destroy(error));
    await container.start();
    const kill = async (): Promise<void> => {
      stream.destroy();
      output.end();
      await remove();
    };
    return { input: stream, output, complaints: () => complaints, kill };
  } catch (error) {
    await remove().catch(() => undefined);
    throw error;
  }
}

/** Kills and removes a container; one that is gone, or going, is no error. */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getContainer(id).remove({ force: true, v: true });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== 404 && statusCode !== 409) throw error;
  }
}

async function containerOptions(options: {
  readonly image: string;
  readonly owner: Owner;
  readonly limits: ContainerLimits;
}): Promise<Docker.ContainerCreateOptions> {
  const { image, owner, limits } = options;
  return {
    Image: image,
    Entrypoint: await runnerCommand(),
    Cmd: [],
    Env: Object.entries(runnerEnvironment).map(([name, value]) => `${name}=${value}`),
    Labels: { [ownerLabel]: JSON.stringify(owner) },
    // The runner drops to other users by itself; nothing else of root's powers is left.
    User: "0:0",
    WorkingDir: "/",
    Hostname: "sandbox",
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: true,
    HostConfig: {
      AutoRemove: true,
      NetworkMode: "none",
      IpcMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      CapAdd: ["SETUID", "SETGID", "KILL"],
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: limits.processes,
      Memory: limits.memoryMb * 2 ** 20,
      MemorySwap: limits.memoryMb * 2 ** 20,
      Tmpfs: { "/tmp": `rw,nosuid,nodev,size=${limits.temporaryMb}m` },
      // Message queues would outlive the job that made them.
      Sysctls: { "fs.mqueue.queues_max": "0" },
      // What it writes is our protocol: no log should grow by it.
      LogConfig: { Type: "none", Config: {} },
    },
  };
}
