import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { PooledSandbox } from "../pool/pooled-sandbox.ts";
import { processorTimeOf } from "../pool/processor-time.ts";
import { firstStart, type StartProgress } from "../pool/watched-start.ts";
import type { Sandbox } from "../sandbox.ts";
import { runnerCommand, runnerEnvironment } from "../zygote/runner-source.ts";
import { slotUid } from "../zygote/slot-uids.ts";
import { type RunnerProcess, ZygoteWorker } from "../zygote/zygote-worker.ts";

/** The options of {@link createBubblewrapSandbox}. */
export interface BubblewrapSandboxOptions {
  /** Number of executions at a time. The number of processors by default. */
  readonly workers?: number;
  /** Number of extra runners that are kept ready. 0 by default. */
  readonly spares?: number;
  /** Packages of the machine's Python that code may import. They are imported ahead. `["numpy"]` by default. */
  readonly packages?: readonly string[];
  /** Megabytes of files that one execution may write in total. 64 by default. */
  readonly temporaryMb?: number;
  readonly signal?: AbortSignal;
}

/**
 * Creates a sandbox that runs the machine's own Python in new Linux namespaces. It needs no Docker. Code has no network
 * and can write only to `/tmp`. The memory limit applies to each process, not to the whole execution. Rejects with
 * `sandbox.unavailable` if `bwrap` is missing or the machine forbids it.
 */
export async function createBubblewrapSandbox(options: BubblewrapSandboxOptions = {}): Promise<Sandbox> {
  const { workers = availableParallelism(), spares = 0, packages = ["numpy"], temporaryMb = 64 } = options;
  let slot = 0;
  const start = async (progress: StartProgress): Promise<ZygoteWorker> => {
    const settings = { uid: slotUid(slot++), packages };
    return ZygoteWorker.start({ runner: await startBubble(temporaryMb), settings, progress });
  };
  const first = await firstStart({ start, signal: options.signal });
  const { python, packages: found } = first.greeting;
  return new PooledSandbox({
    info: { backend: "bubblewrap", languages: ["python"], version: `Python ${python}`, packages: found },
    start,
    workers,
    spares,
    first,
  });
}

async function startBubble(temporaryMb: number): Promise<RunnerProcess> {
  const args = [...bubbleArguments(temporaryMb), ...(await runnerCommand())];
  const child = spawn("bwrap", args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "" },
    // A process group of its own: until bwrap's child is bound to its parent, only killing the group kills both.
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let stderrText = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderrText = (stderrText + chunk.toString()).slice(-2_000);
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      const hint = "Install bubblewrap (Debian: apt-get install bubblewrap), or choose another sandbox.";
      reject(new LyceumError({ code: "sandbox.unavailable", message: "bwrap cannot be started.", hint, cause }));
    });
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) killGroup(child.pid!);
    await ended;
  };
  const cpuMs = (): number | undefined => processorTimeOf(child.pid);
  return { input: child.stdin, output: child.stdout, stderrText: () => stderrText, cpuMs, kill };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * The arguments of bwrap: a root with the machine's programs only, and new namespaces. The runner dies with this
 * process.
 */
function bubbleArguments(temporaryMb: number): string[] {
  const folders = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"];
  const isRoot = process.getuid?.() === 0;
  return [
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(isRoot ? [] : ["--unshare-user"]),
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    ...(isRoot ? ["CAP_SETUID", "CAP_SETGID", "CAP_KILL"].flatMap((name) => ["--cap-add", name]) : []),
    ...folders.filter((path) => existsSync(path)).flatMap((path) => ["--ro-bind", path, path]),
    // bwrap's /dev is a file system in memory. Without this, an ordinary user could write to it without limit.
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--remount-ro",
    "/dev",
    "--size",
    String(temporaryMb * 2 ** 20),
    "--tmpfs",
    "/tmp",
    "--remount-ro",
    "/",
    "--hostname",
    "sandbox",
    "--chdir",
    "/",
    ...Object.entries(runnerEnvironment).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
  ];
}
