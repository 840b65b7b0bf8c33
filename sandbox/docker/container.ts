import { type Duplex, PassThrough, type Readable } from "node:stream";
import type Docker from "dockerode";
import type { RunnerProcess } from "../zygote/zygote-worker.ts";
import type { Owner } from "./owner.ts";

/** What a container may use, all its processes together. */
export interface ContainerLimits {
  readonly memoryMb: number;
  readonly processes: number;
  readonly temporaryMb: number;
}

/** The limits of a container for which none are named. */
export const defaultContainerLimits: ContainerLimits = { memoryMb: 1_024, processes: 128, temporaryMb: 64 };

/** When a start is given up: an engine under load has been seen to leave one unanswered. */
export const startLimitMs = 30_000;

const eventsMs = 3_000;

/** What runs in a container, from its first process on. */
export interface ContainerProgram {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** `uid:gid`. */
  readonly user: string;
  /** What it may do of root's powers. */
  readonly capabilities: readonly string[];
}

/** The label that says whose a container is. */
export const ownerLabel = "lyceum.sandbox.owner";

/** A program in a container that was started. */
export interface RunningContainer extends RunnerProcess {
  /** Resolves once the program has ended, with its exit code: above 128, a signal's number and 128. */
  readonly exited: Promise<number>;
  /** Whether it has reached its limit of memory, as the engine says; for a container that has just ended. */
  readonly outOfMemory: () => Promise<boolean>;
}

/** What a container is started with. */
export interface ContainerOptions {
  readonly docker: Docker;
  readonly image: string;
  readonly owner: Owner;
  readonly limits: ContainerLimits;
  readonly program: ContainerProgram;
}

/** Starts a container, attached to its streams; it ends and is removed when these close. */
export async function startContainer(options: ContainerOptions): Promise<RunningContainer> {
  const { docker } = options;
  const container = await docker.createContainer(containerOptions(options));
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
    // One that is gone before the question arrives has no exit code.
    const exited = container.wait().then(
      ({ StatusCode }: { StatusCode: number }) => StatusCode,
      () => 0,
    );
    const kill = async (): Promise<void> => {
      stream.destroy();
      output.end();
      await remove();
    };
    const outOfMemory = (): Promise<boolean> => hasRunOutOfMemory(docker, container.id);
    return { input: stream, output, complaints: () => complaints, kill, exited, outOfMemory };
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

/** Asks the engine's last events, as a container that has ended is gone. An engine that does not answer says no. */
async function hasRunOutOfMemory(docker: Docker, id: string): Promise<boolean> {
  const filters = { container: [id], event: ["oom"] };
  // The event may come after the end.
  const until = Math.floor(Date.now() / 1000) + 1;
  try {
    const events = (await docker.getEvents({ since: 0, until, filters })) as Readable;
    const timer = setTimeout(() => events.destroy(), eventsMs);
    try {
      for await (const event of events) if (String(event).trim() !== "") return true;
    } finally {
      clearTimeout(timer);
      events.destroy();
    }
  } catch {
    // Without an answer, the job is run once more.
  }
  return false;
}

function containerOptions({ image, owner, limits, program }: ContainerOptions): Docker.ContainerCreateOptions {
  const { command, environment, user, capabilities } = program;
  return {
    Image: image,
    Entrypoint: [...command],
    Cmd: [],
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    Labels: { [ownerLabel]: JSON.stringify(owner) },
    User: user,
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
      CapAdd: [...capabilities],
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
