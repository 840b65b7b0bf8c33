import { type Duplex, PassThrough, type Readable } from "node:stream";
import type Docker from "dockerode";
import type { StartProgress } from "../pool/watched-start.ts";
import { WorkerFailure } from "../pool/worker-failure.ts";
import type { RunnerProcess } from "../zygote/zygote-worker.ts";
import type { Owner } from "./owner.ts";

/** The limits of a container. They apply to all its processes together. */
export interface ContainerLimits {
  readonly memoryMb: number;
  readonly processes: number;
  readonly temporaryMb: number;
}

/** The default limits of a container. */
export const defaultContainerLimits: ContainerLimits = { memoryMb: 1_024, processes: 128, temporaryMb: 64 };

const eventsMs = 3_000;

/** The program of a container, which is its first process. */
export interface ContainerProgram {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** `uid:gid`. */
  readonly user: string;
  /** The capabilities of root that the program keeps. */
  readonly capabilities: readonly string[];
}

/** The label that identifies the owner of a container. */
export const ownerLabel = "lyceum.sandbox.owner";

/** A program in a started container. */
export interface RunningContainer extends RunnerProcess {
  /**
   * Resolves with the exit code after the program has ended. After a signal, the code is 128 plus the signal's number.
   * Undefined if the container was removed first.
   */
  readonly exited: Promise<number | undefined>;
  /**
   * Resolves with true if the engine reports that the container reached its memory limit. For a container that has just
   * ended.
   */
  readonly outOfMemory: () => Promise<boolean>;
}

/** The options of {@link startContainer}. */
export interface ContainerOptions {
  readonly docker: Docker;
  readonly image: string;
  readonly owner: Owner;
  readonly limits: ContainerLimits;
  readonly program: ContainerProgram;
  readonly progress: StartProgress;
}

/**
 * Starts a container and attaches to its streams. The container ends and is removed when the streams close, or if the
 * start is given up.
 */
export async function startContainer(options: ContainerOptions): Promise<RunningContainer> {
  const { docker, progress } = options;
  const { signal, step } = progress;
  signal.throwIfAborted();
  const container = await docker.createContainer(containerOptions(options));
  const remove = (): Promise<void> => removeContainer(docker, container.id);
  // An engine that never answers a start may still answer this.
  const onAbort = (): void => void remove().catch(() => undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    step();
    const streams = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
    const stream = (await container.attach(streams)) as Duplex;
    const output = new PassThrough();
    const errors = new PassThrough();
    docker.modem.demuxStream(stream, output, errors);
    let stderrText = "";
    errors.on("data", (chunk: Buffer) => {
      stderrText = (stderrText + chunk.toString()).slice(-2_000);
    });
    for (const event of ["end", "close"] as const) stream.on(event, () => output.end());
    stream.on("error", (error) => output.destroy(error));
    step();
    await container.start();
    step();
    // A container that is removed before this call arrives has no exit code.
    const exited = container.wait().then(
      ({ StatusCode }: { StatusCode: number }) => StatusCode,
      () => undefined,
    );
    const kill = async (): Promise<void> => {
      stream.destroy();
      output.end();
      await remove();
    };
    const outOfMemory = (): Promise<boolean> => hasRunOutOfMemory(docker, container.id);
    const cpuMs = (): Promise<number | undefined> => processorTimeIn(container);
    return { input: stream, output, stderrText: () => stderrText, cpuMs, kill, exited, outOfMemory };
  } catch (error) {
    await remove().catch(() => undefined);
    signal.throwIfAborted();
    // A container that was killed or removed from outside while it started.
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === 404 || statusCode === 409)
      throw new WorkerFailure(String(error), { fromOutside: true, cause: error });
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Returns the processor time of all processes of a container, in milliseconds. */
async function processorTimeIn(container: Docker.Container): Promise<number | undefined> {
  // Without `one-shot`, the engine waits a second for two samples.
  const stats = (await container.stats({ stream: false, "one-shot": true })) as Partial<Docker.ContainerStats>;
  const nanoseconds = stats.cpu_stats?.cpu_usage.total_usage;
  return nanoseconds === undefined ? undefined : nanoseconds / 1e6;
}

/** Kills and removes a container. Does nothing if the container is already removed or being removed. */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getContainer(id).remove({ force: true, v: true });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode !== 404 && statusCode !== 409) throw error;
  }
}

/**
 * Searches the engine's recent events, because an ended container cannot be inspected. False if the engine does not
 * answer.
 */
async function hasRunOutOfMemory(docker: Docker, id: string): Promise<boolean> {
  const filters = { container: [id], event: ["oom"] };
  // The event may arrive after the end.
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
    // If the engine does not answer, the pool retries the job.
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
      // Message queues would outlive their job.
      Sysctls: { "fs.mqueue.queues_max": "0" },
      // The output is the protocol of the runner. It must not fill a log.
      LogConfig: { Type: "none", Config: {} },
    },
  };
}
