import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { machineOomKills } from "../pool/processor-time.ts";
import type { StartProgress } from "../pool/watched-start.ts";
import { WorkerFailure } from "../pool/worker-failure.ts";
import { MessageReader } from "./message-reader.ts";

/**
 * The stack size in kilobytes. Deep recursion of Python and JavaScript in C needs more than the default of a process.
 */
const stackKb = 65_500;

/** Signals that code cannot send from inside. They come from the machine. */
export const outsideSignals: readonly (string | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"];

/** A locked-down process that runs Python, and the channel to it. */
export class PythonChild {
  readonly #process: ChildProcess;
  readonly #channel: Duplex;
  readonly #reader: MessageReader;
  readonly #exited: Promise<unknown>;
  /** At its start: the number of processes that the kernel killed because memory was used up. */
  readonly #oomKills: number;
  #errors = "";

  /** Starts a process and sends its boot options. The process may read the named folders and no other files. */
  constructor(boot: { readonly pyodide: string; readonly snapshot?: string; readonly harness?: object }) {
    const here = fileURLToPath(new URL(".", import.meta.url));
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    // Node reads the package's own package.json to detect that its files are modules.
    const packageFile = findPackageJSON(import.meta.url);
    const readable = [boot.pyodide, fileURLToPath(new URL("..", import.meta.url))];
    if (packageFile !== undefined) readable.push(packageFile);
    if (boot.snapshot !== undefined) readable.push(boot.snapshot);
    const options = [
      "--permission",
      "--allow-worker",
      ...readable.map((path) => `--allow-fs-read=${path}`),
      "--disallow-code-generation-from-strings",
      "--max-old-space-size=256",
      "--no-warnings",
      "--no-addons",
    ];
    const argv = [...options, `${here}child/main.${extension}`];
    this.#oomKills = machineOomKills();
    this.#process = spawnWithStack(argv);
    this.#exited = new Promise((resolve) => this.#process.once("close", resolve));
    this.#process.once("error", () => undefined);
    this.#channel = this.#process.stdio[3] as Duplex;
    this.#channel.on("error", () => undefined);
    this.#reader = new MessageReader(this.#channel);
    this.#process.stderr?.on("data", (text: Buffer) => {
      this.#errors = (this.#errors + text.toString()).slice(-2_000);
    });
    this.send(boot);
  }

  get alive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null && this.#process.pid !== undefined;
  }

  send(message: object): void {
    const body = Buffer.from(JSON.stringify(message));
    const head = Buffer.alloc(4);
    head.writeUInt32LE(body.length);
    this.#channel.write(Buffer.concat([head, body]));
  }

  /** Returns its first message. Kills it if the start is given up. */
  async firstMessage(maxBytes: number, { signal, watch }: StartProgress): Promise<Buffer> {
    const onAbort = (): void => void this.kill();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    watch(() => this.cpuMs);
    try {
      return await this.receive(maxBytes);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Returns the next message as bytes. Rejects with a `WorkerFailure` if the process has ended instead. */
  async receive(maxBytes: number): Promise<Buffer> {
    const message = await this.#reader.next(maxBytes);
    if (message !== undefined) return message;
    await this.#exited;
    const { exitCode, signalCode } = this.#process;
    const how = signalCode ?? exitCode ?? "not started";
    // The kernel kills what uses up the machine's memory.
    const fromOutside = outsideSignals.includes(signalCode) && machineOomKills() === this.#oomKills;
    throw new WorkerFailure(`A Python process has ended (${how}). ${lastLine(this.#errors)}`, { fromOutside });
  }

  /** The exit code and signal of the process. Both are null while it runs. */
  get exit(): { readonly code: number | null; readonly signal: string | null } {
    return { code: this.#process.exitCode, signal: this.#process.signalCode };
  }

  /** Processor time so far of the thread that runs Python, in milliseconds. Undefined if it is unknown. */
  get cpuMs(): number | undefined {
    const { pid } = this.#process;
    try {
      // Linux: the nanoseconds that the main thread has used.
      return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
    } catch {
      return undefined;
    }
  }

  /** Kills the process and waits until it has ended. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    if (this.#process.pid !== undefined) await this.#exited;
    this.#channel.destroy();
  }
}

function spawnWithStack(argv: readonly string[]): ChildProcess {
  const options = { stdio: ["ignore", "ignore", "pipe", "pipe"], env: {}, windowsHide: true } as const;
  const command = process.execPath;
  if (!existsSync("/bin/sh")) return spawn(command, argv, options as never);
  // exec replaces the shell by Node, so that there is only one process, with the known id.
  const script = `ulimit -c 0; ulimit -s ${stackKb} 2>/dev/null && exec "$0" --stack-size=${stackKb - 5_500} "$@" || exec "$0" "$@"`;
  return spawn("/bin/sh", ["-c", script, command, ...argv], options as never);
}

function lastLine(text: string): string {
  return (
    text
      .trim()
      .split("\n")
      .findLast((line) => /Error|rror:/.test(line))
      ?.slice(0, 300) ?? ""
  );
}
