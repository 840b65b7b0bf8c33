import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Json } from "../../src/contract/json.ts";
import { execute } from "./execute.ts";
import { pythonOf } from "./python-environment.ts";

const scripts = join(import.meta.dirname, "python");

/** Where the tests find the environment and the socket of `startPython`. */
const variables = { environment: "LYCEUM_INTEROP_SERVER_OF", socket: "LYCEUM_INTEROP_SERVER" } as const;

/**
 * Starts a process that has imported PyTorch and transformers, which takes ten seconds. `runPython` of this process and
 * of those that it starts runs the environment's scripts in forks of it.
 */
export async function startPython(environment: string): Promise<AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-python-"));
  const socket = join(folder, "socket");
  const child = spawn(pythonOf(environment), [join(scripts, "script_server.py"), socket], {
    env: { ...process.env, ...settingsOf(environment) },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const ready = await Promise.race([once(child.stdout, "data"), ended.then(() => undefined)]);
  if (ready === undefined) {
    await stop();
    throw new Error("The process of the Python scripts did not start.");
  }
  process.env[variables.environment] = environment;
  process.env[variables.socket] = socket;
  return { [Symbol.asyncDispose]: stop };
}

/**
 * Runs a script of test/interop/python with a request and returns its response (see python/contract.py). Killed after
 * `timeoutMs`, 10 minutes by default, or if the signal aborts.
 */
export async function runPython<Response>(options: {
  /** The folder of the virtual environment. */
  readonly environment: string;
  /** File name without `.py`. */
  readonly script: string;
  readonly request: Json;
  /** A folder of additional packages. */
  readonly packages?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}): Promise<Response> {
  const { environment, script, request, packages, timeoutMs = 600_000, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lyceum-interop-"));
  try {
    const responseFile = join(folder, "response.json");
    const command = [join(scripts, `${script}.py`), join(folder, "request.json"), responseFile];
    await writeFile(command[1]!, JSON.stringify(request));
    const socket = process.env[variables.socket];
    if (socket !== undefined && environment === process.env[variables.environment] && packages === undefined) {
      const timeout = AbortSignal.timeout(timeoutMs);
      await runFork(socket, command, signal === undefined ? timeout : AbortSignal.any([timeout, signal]));
    } else {
      await execute(pythonOf(environment), command, {
        timeoutMs,
        environment: {
          ...settingsOf(environment),
          ...(packages === undefined ? {} : { PYTHONPATH: packages }),
        },
        ...(signal === undefined ? {} : { signal }),
      });
    }
    return JSON.parse(await readFile(responseFile, "utf8")) as Response;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runFork(socket: string, command: readonly string[], signal: AbortSignal): Promise<void> {
  const connection = createConnection(socket);
  signal.addEventListener("abort", () => connection.destroy(signal.reason as Error), { once: true });
  connection.write(`${JSON.stringify(command)}\n`);
  const error = await text(connection);
  if (error !== "") throw new Error(`${command.join(" ")}\n${error}`);
}

function settingsOf(environment: string): Record<string, string> {
  return {
    // Compiled files go to the environment, not next to the scripts.
    PYTHONPYCACHEPREFIX: join(environment, "pycache"),
    PYTHONDONTWRITEBYTECODE: "",
    PYTHONWARNINGS: "ignore",
    HF_HUB_OFFLINE: "1",
    HF_HUB_DISABLE_PROGRESS_BARS: "1",
    TOKENIZERS_PARALLELISM: "false",
    CUDA_VISIBLE_DEVICES: "",
  };
}
