import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execute } from "./execute.ts";
import { freePort } from "./free-port.ts";
import { pythonOf } from "./python-environment.ts";

/** The time in milliseconds that a server may take to start. */
const startMs = 300_000;

/** A running OpenEnv server in Python. */
export interface OpenEnvProgram extends AsyncDisposable {
  readonly url: string;
}

/** Starts an environment of python/openenv_server.py. */
export async function startPythonServer(kind: "game" | "code" | "tools", environment: string): Promise<OpenEnvProgram> {
  const port = await freePort();
  const script = join(import.meta.dirname, "python", "openenv_server.py");
  return started({ environment, port, words: [script, kind, String(port)], folder: import.meta.dirname });
}

/** Makes the echo environment of `openenv init` in a folder and starts it. */
export async function startTemplateServer(folder: string, environment: string): Promise<OpenEnvProgram> {
  // The script of the command names the interpreter's path at its installation, before the environment was moved.
  const init = ["-m", "openenv.cli", "init", "echo_env", "--output-dir", folder];
  await execute(pythonOf(environment), init, { timeoutMs: 120_000 });
  const port = await freePort();
  const words = ["-m", "uvicorn", "server.app:app", "--host", "127.0.0.1", "--port", String(port)];
  return started({ environment, port, words, folder: join(folder, "echo_env") });
}

async function started(options: {
  readonly environment: string;
  readonly port: number;
  readonly words: readonly string[];
  readonly folder: string;
}): Promise<OpenEnvProgram> {
  const { environment, port, words, folder } = options;
  const child = spawn(pythonOf(environment), words, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    // Compiled files go to the environment, not next to the scripts.
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "", PYTHONPYCACHEPREFIX: join(environment, "pycache") },
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const program: OpenEnvProgram = {
    url,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
  const end = performance.now() + startMs;
  for (;;) {
    const healthy = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (healthy) return program;
    if (child.exitCode !== null || performance.now() > end) {
      await program[Symbol.asyncDispose]();
      throw new Error(`The server did not start:\n${errors}`);
    }
    await pause(100);
  }
}
