import type { Readable } from "node:stream";
import { Transform } from "node:stream";
import type Docker from "dockerode";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { type TarEntry, tarArchive } from "../../../src/core/files/tar-archive.ts";
import { ownerLabel, removeContainer } from "../container.ts";
import { currentOwner } from "../owner.ts";
import { fileChanges } from "./file-changes.ts";
import { type Command, type CommandResult, runCommand } from "./run-command.ts";
import { firstFile, hasFiles, type SavedFiles, saveFiles } from "./tar.ts";

/** The limits of a workspace. They apply to all its processes together. */
export interface WorkspaceLimits {
  readonly memoryMb: number;
  readonly cpus: number;
  readonly processes: number;
}

/** The options of a workspace. */
export interface WorkspaceOptions {
  readonly image: string;
  readonly limits: WorkspaceLimits;
  /** True if its processes can use the network. */
  readonly network: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** The code of the error for changes that exceed a limit. */
export class TooManyChanges extends Error {}

const maxChangedPaths = 5_000;

/**
 * A container in which commands run one after another on the same files. Its first process only waits, so that files
 * and background processes remain between commands.
 */
export class Workspace implements AsyncDisposable {
  readonly #docker: Docker;
  readonly #container: Docker.Container;

  constructor(docker: Docker, container: Docker.Container) {
    this.#docker = docker;
    this.#container = container;
  }

  /** Starts the container. */
  async start(): Promise<void> {
    await answered(() => this.#container.start());
  }

  /** Runs a command. After its timeout, all processes of the container are killed, and the files remain. */
  async run(command: Command): Promise<CommandResult> {
    const result = await answered(async () => {
      try {
        return await runCommand(this.#container, command);
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode !== 409) throw error;
        // The first process ended, for example because the memory was exhausted.
        await this.#container.start();
        return runCommand(this.#container, command);
      }
    });
    if (result.timedOut) await answered(() => this.#container.restart({ t: 0 }));
    return result;
  }

  /** Adds files to an existing folder, as root. */
  async add(folder: string, entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): Promise<void> {
    await answered(() => this.#container.putArchive(tarArchive(entries), { path: folder }));
  }

  /**
   * Returns the content of a plain file. Undefined if there is none at this path. A link is not followed, and
   * `"too-large"` stands for a file of more than `limit` bytes.
   */
  async read(path: string, limit: number): Promise<Buffer | "too-large" | undefined> {
    return answered(async () => {
      let archive: Readable;
      try {
        archive = (await this.#container.getArchive({ path })) as Readable;
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode === 404) return undefined;
        throw error;
      }
      try {
        return await firstFile(archive, limit);
      } finally {
        archive.destroy();
      }
    });
  }

  /**
   * Writes the files of a folder to a tar file on this machine, and returns if it has any. Without `file`, only looks for
   * them. `"too-large"` stands for more than `maxBytes`, of which nothing is kept.
   */
  async keepFolder(options: {
    readonly folder: string;
    readonly file?: string | undefined;
    readonly maxBytes: number;
  }): Promise<SavedFiles> {
    const { folder, file, maxBytes } = options;
    return answered(async () => {
      let archive: Readable;
      try {
        archive = (await this.#container.getArchive({ path: folder })) as Readable;
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode === 404) return "none";
        throw error;
      }
      try {
        return file === undefined ? await hasFiles(archive) : await saveFiles(archive, { file, maxBytes });
      } finally {
        archive.destroy();
      }
    });
  }

  /** Kills all processes. The files can still be read and copied. */
  async kill(): Promise<void> {
    await answered(() => this.#container.stop({ t: 0 })).catch((error: unknown) => {
      // The container had ended already.
      if ((error as { cause?: { statusCode?: number } }).cause?.statusCode !== 304) throw error;
    });
  }

  /**
   * Copies the changes of this workspace's files to another, started one of the same image, except those within the
   * protected folders. With `within`, only those at or below these paths are copied. Those below the folders `open`, which
   * must exist in both, are copied in any case. Returns the changed paths. Throws {@link TooManyChanges} beyond `maxBytes` or 5,000 separate paths. Kill this one first.
   */
  async copyChanges(options: {
    readonly to: Workspace;
    readonly protectedFolders: readonly string[];
    readonly within?: readonly string[] | undefined;
    readonly open?: readonly string[] | undefined;
    readonly maxBytes: number;
    readonly signal?: AbortSignal | undefined;
  }): Promise<readonly string[]> {
    const { to, protectedFolders, within, open, maxBytes, signal } = options;
    const listed = await answered(() => this.#container.changes());
    // Without changes, the answer is not a list.
    const { copied, deleted } = fileChanges(Array.isArray(listed) ? listed : [], { protectedFolders, within, open });
    if (copied.length + deleted.length > maxChangedPaths) throw new TooManyChanges("Too many changed files.");
    for (let start = 0; start < deleted.length; start += 100) {
      const command = ["/bin/rm", "-rf", "--", ...deleted.slice(start, start + 100)];
      await to.run({ command, limitMs: 60_000, user: "0", signal });
    }
    if (within !== undefined && copied.length > 0) {
      // A folder above one of the paths can be new, and is not copied itself.
      const command = ["/bin/mkdir", "-p", "--", ...new Set(copied.map(folderOf))];
      await to.run({ command, limitMs: 60_000, user: "0", signal });
    }
    let left = maxBytes;
    for (const path of copied) {
      signal?.throwIfAborted();
      await answered(async () => {
        const archive = (await this.#container.getArchive({ path })) as Readable;
        const counted = new Transform({
          transform: (part: Buffer, _, done) => {
            left -= part.length;
            done(left < 0 ? new TooManyChanges("The changed files are too large.") : null, part);
          },
        });
        archive.on("error", (error) => counted.destroy(error));
        counted.on("error", () => archive.destroy());
        const failed = new Promise<never>((_, reject) => counted.once("error", reject));
        await Promise.race([to.#container.putArchive(archive.pipe(counted), { path: folderOf(path) }), failed]);
      });
    }
    return [...copied, ...deleted];
  }

  /** Removes the container with its files. */
  async [Symbol.asyncDispose](): Promise<void> {
    await removeContainer(this.#docker, this.#container.id);
  }
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** Creates a workspace whose container is not started yet. */
export async function createWorkspace(docker: Docker, options: WorkspaceOptions): Promise<Workspace> {
  const { image, limits, network, environment = {} } = options;
  const memory = limits.memoryMb * 2 ** 20;
  const container = await answered(() =>
    docker.createContainer({
      Image: image,
      Entrypoint: ["sleep", "infinity"],
      Cmd: [],
      User: "0",
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      Labels: { [ownerLabel]: JSON.stringify(currentOwner()) },
      Healthcheck: { Test: ["NONE"] },
      NetworkDisabled: !network,
      HostConfig: {
        NetworkMode: network ? "bridge" : "none",
        CapDrop: ["MKNOD", "NET_RAW", "AUDIT_WRITE", "SYS_CHROOT"],
        SecurityOpt: ["no-new-privileges"],
        PidsLimit: limits.processes,
        Memory: memory,
        MemorySwap: memory,
        NanoCpus: Math.round(limits.cpus * 1e9),
        LogConfig: { Type: "none", Config: {} },
      },
    }),
  );
  return new Workspace(docker, container);
}

/** Turns the engine's own failures into `sandbox.unavailable`. */
export async function answered<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (LyceumError.isInstance(cause) || cause instanceof TooManyChanges) throw cause;
    if ((cause as Error).name === "AbortError") throw cause;
    throw new LyceumError({
      code: "sandbox.unavailable",
      message: `The Docker engine failed: ${(cause as Error).message}`,
      hint: "See the engine's log.",
      cause,
    });
  }
}
