import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Docker from "dockerode";
import { temporaryFolder } from "../temporary-folder.ts";
import { processes } from "./processes.ts";

/** A Docker engine for one test. It shares no socket, image, container or containerd with others. */
export interface DedicatedEngine extends AsyncDisposable {
  readonly docker: Docker;
  readonly connection: Docker.DockerOptions;
  /** Starts or restarts it. Resolves when it answers. */
  readonly start: () => Promise<void>;
  /**
   * Sends a signal to its process. Resolves after the process has ended, or immediately if the signal pauses or
   * continues it.
   */
  readonly signal: (signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT") => Promise<void>;
  /** Returns the ids of its processes: containerd, its helpers, and the processes in containers. */
  readonly running: () => Promise<readonly number[]>;
}

/** The timeout of a start. The machine may be busy. */
const startMs = 120_000;

/** Returns why this machine cannot have a separate engine with that image. Undefined if it can. */
export async function dedicatedEngineProblem(image: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "an engine of its own needs root on Linux";
  try {
    execFileSync("dockerd", ["--version"], { stdio: "pipe" });
    await new Docker().getImage(image).inspect();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Creates an engine with an image of the machine's engine, and with additional settings. Rejects if this machine cannot
 * have one.
 */
export async function ownEngine(image: string, settings: readonly string[] = []): Promise<DedicatedEngine> {
  const folder = temporaryFolder();
  const socketPath = join(folder, "docker.sock");
  const connection = { socketPath };
  const docker = new Docker(connection);
  const log = join(folder, "log");
  let engine: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    await using output = await open(log, "a");
    const words = [
      ...["--host", `unix://${socketPath}`, "--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
      ...["--pidfile", join(folder, "pid"), "--containerd-namespace", "lyceum-test"],
      // Sandboxes have no network.
      ...["--bridge=none", "--iptables=false", "--ip6tables=false", ...settings],
    ];
    engine = spawn("dockerd", words, { stdio: ["ignore", output.fd, output.fd] });
    const ended = once(engine, "exit").then(async () => {
      throw new Error(`The engine ended: ${(await readFile(log, "utf8")).slice(-1_000)}`);
    });
    ended.catch(() => undefined);
    const answered = async (): Promise<void> => {
      for (const end = performance.now() + startMs; ; await sleep(100)) {
        try {
          await docker.ping();
          return;
        } catch (error) {
          if (performance.now() > end) throw error;
        }
      }
    };
    await Promise.race([answered(), ended]);
  };
  const signal: DedicatedEngine["signal"] = async (name) => {
    const running = engine!;
    const exited = running.exitCode === null && running.signalCode === null ? once(running, "exit") : undefined;
    running.kill(name);
    if (name === "SIGKILL" || name === "SIGTERM") await exited;
  };
  const running = async (): Promise<readonly number[]> => {
    const all = await Promise.all(
      processes().map(async ({ pid }) => {
        const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
        return pid !== engine?.pid && command.includes(folder) ? [pid] : [];
      }),
    );
    return all.flat();
  };
  const dispose = async (): Promise<void> => {
    if (engine !== undefined) {
      await signal("SIGCONT");
      await signal("SIGTERM");
    }
    for (const mounted of (await readFile("/proc/self/mounts", "utf8")).split("\n").toReversed()) {
      const path = mounted.split(" ")[1];
      if (path?.startsWith(`${folder}/`) === true) execFileSync("umount", ["--lazy", path]);
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await start();
    const saved = await new Docker().getImage(image).get();
    const loading = await docker.loadImage(saved as NodeJS.ReadableStream & { readonly path?: string });
    for await (const _ of loading as NodeJS.ReadableStream & AsyncIterable<unknown>);
    await docker.getImage(image).inspect();
  } catch (error) {
    await dispose();
    throw error;
  }
  return { docker, connection, start, signal, running, [Symbol.asyncDispose]: dispose };
}
