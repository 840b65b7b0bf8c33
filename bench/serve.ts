import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../test/interop/free-port.ts";
import { providePythonEnvironment, pythonOf } from "../test/interop/python-environment.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { type Load, loadServer } from "./serve-load.ts";

const sessionCounts = [1, 16, 64, 256] as const;
const manySessions = 2_048;
const seconds = 5;
/** How many times the requests of OpenEnv's own server are asked for. */
const askedRatio = 5;

/**
 * Compares the environment server with OpenEnv's own (Python, uvicorn, one process), with an environment that returns
 * its text: steps in a second and the time of a step, at 1 to 256 sessions. Each server has a process of its own, and
 * both are measured one after the other at each number of sessions, under the same client in this process: as fast as
 * each answers, and at half the rate at which OpenEnv's server answers. The baseline of a figure is that of OpenEnv's server, that of the ratio what is asked. Throws if a step has an error.
 */
export const serve: Benchmark = { prefix: "serve", run };

async function run(): Promise<BenchmarkResult[]> {
  const python = pythonOf(
    await providePythonEnvironment({ name: "capture", requirements: "capture-requirements.txt", download: "150 MB" }),
  );
  const folder = import.meta.dirname;
  await using lyceum = await started((port) => [
    process.execPath,
    join(folder, "../cli/main.ts"),
    "serve",
    "--environments",
    join(folder, "echo-environment.ts"),
    "--port",
    String(port),
    "--max-sessions",
    "4096",
  ]);
  await using openenv = await started((port) => [python, join(folder, "openenv_echo.py"), String(port)]);
  const results: BenchmarkResult[] = [];
  for (const sessions of sessionCounts) {
    const own = await faultless({ port: lyceum.port, sessions });
    const other = await faultless({ port: openenv.port, sessions });
    // A closed loop sends more steps to the faster server. Times compare best at an equal rate that both can serve.
    const perSecond = other.perSecond / 2;
    const ownAtRate = await faultless({ port: lyceum.port, sessions, perSecond });
    const otherAtRate = await faultless({ port: openenv.port, sessions, perSecond });
    results.push(
      { name: `serve/requests-${sessions}`, value: own.perSecond, unit: "steps/s", baseline: other.perSecond },
      { name: `serve/p50-${sessions}-ms`, value: own.p50Ms, unit: "ms", baseline: other.p50Ms },
      { name: `serve/p99-${sessions}-ms`, value: own.p99Ms, unit: "ms", baseline: other.p99Ms },
      {
        name: `serve/p99-${sessions}-at-equal-rate-ms`,
        unit: "ms",
        value: ownAtRate.p99Ms,
        baseline: otherAtRate.p99Ms,
      },
      { name: `serve/ratio-${sessions}`, value: own.perSecond / other.perSecond, unit: "times", baseline: askedRatio },
    );
  }
  const many = await faultless({ port: lyceum.port, sessions: manySessions });
  return [
    ...results,
    { name: `serve/requests-${manySessions}`, value: many.perSecond, unit: "steps/s" },
    { name: `serve/p99-${manySessions}-ms`, value: many.p99Ms, unit: "ms" },
  ];
}

async function faultless(options: {
  readonly port: number;
  readonly sessions: number;
  readonly perSecond?: number;
}): Promise<Load> {
  const load = await loadServer({ ...options, seconds });
  if (load.errors > 0) throw new Error(`${load.errors} steps of ${options.sessions} sessions have an error.`);
  return load;
}

/** Starts a server in a process of its own. */
async function started(
  words: (port: number) => readonly string[],
): Promise<AsyncDisposable & { readonly port: number }> {
  const port = await freePort();
  const [program, ...args] = words(port);
  const child = spawn(program!, args, { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  try {
    await healthy(port);
  } catch (error) {
    await close();
    throw error;
  }
  return { port, [Symbol.asyncDispose]: close };
}

async function healthy(port: number): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    if (response?.ok === true) return;
    await pause(100);
  }
  throw new Error("The server did not start within five minutes.");
}
