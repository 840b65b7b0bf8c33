import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { provideUvProject } from "./uv-project.ts";

/** The uv project of the server: TuFT without packages that only GPUs need. vLLM is one of them: it samples. */
const project = `[project]
name = "tuft-server"
version = "0.0.0"
requires-python = ">=3.12,<3.14"
dependencies = ["tuft==0.2.2"]
[tool.uv]
package = false
exclude-dependencies = ["vllm", "triton", "nvidia-nvtx"]
`;

/** A running TuFT server that trains and does not sample. */
export interface TuftServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts TuFT's server for a model folder on the CPU (see python/tuft_server.py). `folder` gets its state and its log.
 * The Python environment (4 GB of downloads, Python 3.12) is made once, in the user's cache.
 */
export async function startTuft(options: {
  readonly model: string;
  readonly key: string;
  readonly folder: string;
}): Promise<TuftServer> {
  const { model, key, folder } = options;
  const environment = await provideUvProject({ name: "tuft", project, extras: [], download: "4 GB" });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await mkdir(folder, { recursive: true });
  const config = {
    checkpoint_dir: join(folder, "checkpoints"),
    supported_models: [
      {
        model_name: model,
        model_path: model,
        max_model_len: 256,
        capabilities: ["training"],
        micro_batch_size: 8,
        max_loras: 8,
      },
    ],
    authorized_users: { [key]: "tester" },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(config));
  const log = openSync(join(folder, "server.log"), "a");
  const script = join(import.meta.dirname, "python/tuft_server.py");
  const server = spawn(
    join(environment.project, ".venv/bin/python"),
    [script, "launch", "--port", String(port), "-c", join(folder, "config.yaml")],
    {
      cwd: folder,
      // Ray starts many processes. All are ended as one group.
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...process.env, HF_HUB_OFFLINE: "1", OMP_NUM_THREADS: "1", RAY_AUTH_MODE: "disabled" },
    },
  );
  closeSync(log);
  const exited = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const stop = async () => {
    process.kill(-server.pid!, "SIGTERM");
    await exited;
  };
  for (let waited = 0; ; waited++) {
    const answer = await fetch(`${url}/api/v1/healthz`).catch(() => undefined);
    if (answer?.ok) return { url, [Symbol.asyncDispose]: stop };
    if (server.exitCode !== null || waited > 240) {
      if (server.exitCode === null) await stop();
      throw new Error(await readFile(join(folder, "server.log"), "utf8"));
    }
    await sleep(1000);
  }
}
