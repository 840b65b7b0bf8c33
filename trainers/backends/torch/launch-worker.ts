import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Duplex } from "node:stream";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { cacheFolder } from "./torch-environment.ts";

/** How many processes compute, and where. */
export interface WorkerProcesses {
  /** The processes on this machine. Default: 1. */
  readonly processes?: number | undefined;
  /** The machines. Default: 1. */
  readonly nodes?: number | undefined;
  /** The address and port of the first machine, at which the processes of several machines meet. */
  readonly rendezvous?: string | undefined;
}

/** A worker that was started. */
export interface LaunchedWorker {
  readonly child: ChildProcess;
  /** Resolves when the worker has exited, or could not start, and its temporary files are gone. */
  readonly ended: Promise<void>;
  /** Ends the worker and what it has started, at once. */
  kill(): void;
}

/** torchrun is killed if it has not ended its processes after this time. They end when Lyceum closes their stream. */
const killMs = 5000;

/** The arguments of Python that start the worker's processes on one of the machines, counted from 0. */
function workerArguments(processes: WorkerProcesses, node: number, settings: object): string[] {
  const { processes: count = 1, nodes = 1, rendezvous } = processes;
  const worker = ["-m", "worker", JSON.stringify(settings)];
  if (count === 1 && nodes === 1) return worker;
  const [address = "", port = ""] = rendezvous?.split(/:(?=\d+$)/) ?? [];
  const place =
    nodes === 1
      ? ["--standalone"]
      : ["--nnodes", `${nodes}`, "--node-rank", `${node}`, "--master-addr", address, "--master-port", port];
  return ["-m", "torch.distributed.run", ...place, "--nproc-per-node", `${count}`, ...worker];
}

/** The environment variables of a worker. Those by which torchrun counts ranks are left out. */
function workerEnvironment(): NodeJS.ProcessEnv {
  const { WORLD_SIZE: _size, RANK: _rank, LOCAL_RANK: _local, LOCAL_WORLD_SIZE: _localSize, ...rest } = process.env;
  return {
    ...rest,
    PYTHONPATH: [import.meta.dirname, process.env.PYTHONPATH].filter(Boolean).join(path.delimiter),
    PYTHONUNBUFFERED: "1",
    // What is compiled stays for the next worker.
    TORCHINDUCTOR_CACHE_DIR: process.env.TORCHINDUCTOR_CACHE_DIR ?? cacheFolder("torchinductor"),
    TOKENIZERS_PARALLELISM: "false",
  };
}

/**
 * Starts a worker. `onStream` gets the stream of its frames: an inherited socket, or for several processes one that the
 * first of them opens in its folder for temporary files, because torchrun passes no file descriptors.
 */
export async function launchWorker(
  python: string,
  processes: WorkerProcesses,
  settings: object,
  onStream: (stream: Duplex) => void,
): Promise<LaunchedWorker> {
  const args = workerArguments(processes, 0, settings);
  const folder = await temporaryFolder();
  // torchrun, PyTorch and vLLM leave files behind. In this folder they end with it.
  const environment = { ...workerEnvironment(), TMPDIR: folder };
  const end = (): Promise<void> => removeFolder(folder);
  if (!args.includes("torch.distributed.run")) {
    const child = spawn(python, args, { stdio: ["ignore", "pipe", "pipe", "pipe"], env: environment });
    onStream(child.stdio[3] as Duplex);
    return { child, ended: exitOf(child).then(end), kill: () => void child.kill("SIGKILL") };
  }
  const socket = path.join(folder, "worker.sock");
  const server = createServer();
  try {
    // After it listens, a failure shows as a worker that does not connect.
    await new Promise<void>((resolve, reject) => server.on("error", reject).listen(socket, resolve));
  } catch (cause) {
    await end();
    throw new LyceumError({
      code: "backend.failed",
      message: `The socket ${socket} of the PyTorch worker cannot be opened: ${(cause as Error).message}.`,
      hint: "Set TMPDIR to a folder with a short path, in which files can be made.",
      cause,
    });
  }
  server.once("connection", (stream) => {
    server.close();
    onStream(stream);
  });
  // torchrun ends its processes at an interrupt. In a session of its own it gets none from the terminal.
  const child = spawn(python, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...environment, LYCEUM_WORKER_SOCKET: socket },
    detached: true,
  });
  const ended = exitOf(child).then(() => {
    server.close();
    return end();
  });
  return { child, ended, kill: () => endTorchrun(child) };
}

/** Removes a worker's folder for temporary files. One that stays must not hide how the worker ended. */
async function removeFolder(folder: string): Promise<void> {
  // What torchrun did not end itself may still write here.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
}

async function temporaryFolder(): Promise<string> {
  try {
    return await mkdtemp(path.join(tmpdir(), "lyceum-torch-"));
  } catch (cause) {
    throw new LyceumError({
      code: "backend.failed",
      message: `The PyTorch worker gets no folder for temporary files in ${tmpdir()}: ${(cause as Error).message}.`,
      hint: "Set TMPDIR to a folder with free space, in which files can be made.",
      cause,
    });
  }
}

/** Resolves when a process has exited, or could not be started. */
function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("error", () => resolve()).once("exit", () => resolve()));
}

/** Starts the processes of one more machine. They follow those of the first one, which have the settings. */
export async function startNode(python: string, processes: WorkerProcesses, node: number): Promise<LaunchedWorker> {
  const folder = await temporaryFolder();
  const child = spawn(python, workerArguments(processes, node, {}), {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...workerEnvironment(), TMPDIR: folder },
    detached: true,
  });
  return { child, ended: exitOf(child).then(() => removeFolder(folder)), kill: () => endTorchrun(child) };
}

/** Ends torchrun, which ends its processes. They are in sessions of their own, so no signal to a group reaches them. */
function endTorchrun(child: ChildProcess): void {
  child.kill("SIGTERM");
  setTimeout(() => child.kill("SIGKILL"), killMs).unref();
}
