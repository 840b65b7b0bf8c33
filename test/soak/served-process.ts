import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../interop/free-port.ts";

/** A process of a server with its resources, as Linux counts them. */
export interface ServerProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly port: number;
  readonly url: string;
  /** What it has written to stderr. */
  readonly errors: () => string;
  /** The resident memory in megabytes. */
  readonly rssMb: () => number;
  /** The used heap of all threads after a garbage collection in megabytes. */
  readonly heapMb: () => Promise<number>;
  /** The number of open file descriptors, sockets included. */
  readonly files: () => number;
  /** The value of a metric without labels. */
  readonly metric: (name: string) => Promise<number>;
}

/** A `lyceum serve` process. */
export interface ServedProcess extends ServerProcess {
  readonly grpcPort: number;
  readonly grpcUrl: string;
}

const main = join(import.meta.dirname, "../../cli/main.ts");
/** The path of the environment that is served by default. */
export const servedEnvironment: string = join(import.meta.dirname, "served-environment.ts");

/** Starts `lyceum serve` on free ports with OpenEnv's protocol and gRPC. */
export async function serveProcess(
  args: readonly string[] = [],
  { token }: { readonly token?: string } = {},
): Promise<ServedProcess> {
  const words = ["serve", "-e", servedEnvironment, "--grpc-port", String(await freePort()), ...args];
  const ready = /at http:\/\/127\.0\.0\.1:(\d+)[\s\S]*gRPC at grpc:\/\/127\.0\.0\.1:(\d+)/;
  const { ports, ...server } = await startServer(words, { ready, token });
  const grpcPort = ports[1]!;
  return { ...server, grpcPort, grpcUrl: `http://127.0.0.1:${grpcPort}` };
}

/** Starts a command that serves. `ready` matches its output when it is ready, with the ports as groups. */
export async function startServer(
  words: readonly string[],
  { ready: pattern, token }: { readonly ready: RegExp; readonly token?: string | undefined },
): Promise<ServerProcess & { readonly ports: readonly number[] }> {
  const report = ["--expose-gc", "--import", join(import.meta.dirname, "memory-report.ts")];
  const key = token === undefined ? [] : ["--token", token];
  const child = spawn(process.execPath, [...report, main, ...words, ...key], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const streams = child as ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
  let [output, errors] = ["", ""];
  streams.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ready = new Promise<RegExpExecArray>((resolve, reject) => {
    streams.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const found = pattern.exec(output);
      if (found !== null) resolve(found);
    });
    child.on("exit", (code, signal) => reject(new Error(`The server ended by ${code ?? signal}: ${errors}`)));
  });
  const ports = (await ready).slice(1).map(Number);
  const url = `http://127.0.0.1:${ports[0]}`;
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    ...{ child, ports, port: ports[0]!, url },
    errors: () => errors,
    rssMb: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
    heapMb: async () => {
      child.send("report");
      const [bytes] = await once(child, "message");
      return bytes / 2 ** 20;
    },
    files: () => readdirSync(`/proc/${child.pid}/fd`).length,
    metric: async (name) => {
      const text = await (await fetch(`${url}/metrics`, { headers })).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** Calls `sample` every 50 ms until `work` has ended, and returns the largest value with the result. */
export async function largestDuring<T>(
  sample: () => number,
  work: Promise<T>,
): Promise<{ largest: number; result: T }> {
  let largest = sample();
  let done = false;
  const ended = work.finally(() => {
    done = true;
  });
  while (!done) {
    await Promise.race([ended.catch(() => {}), pause(50)]);
    largest = Math.max(largest, sample());
  }
  return { largest, result: await ended };
}

/** Waits until a value has the limit or is below it. Returns the last value after the time. */
export async function untilBelow(sample: () => number | Promise<number>, limit: number, ms = 30_000): Promise<number> {
  const end = performance.now() + ms;
  for (;;) {
    const value = await sample();
    if (value <= limit || performance.now() > end) return value;
    await pause(100);
  }
}
