import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { provideUvProject } from "./uv-project.ts";

/** A running SkyRL server on JAX. */
export interface SkyrlServer extends AsyncDisposable {
  readonly url: string;
  /** Ends the server and starts it again on the same port and state. Its models are lost, its checkpoints are not. */
  restart(): Promise<void>;
}

/** The version of SkyRL under test. `LYCEUM_SKYRL_VERSION` names another one, such as 0.4.0. */
export const skyrlVersion = process.env.LYCEUM_SKYRL_VERSION ?? "0.3.0";

/**
 * The uv project of the server: SkyRL with JAX, without packages that only GPUs need. SkyRL 0.4.0 imports aiohttp, which
 * its extras `tinker` and `jax` do not install.
 */
const project = `[project]
name = "skyrl-server"
version = "0.0.0"
requires-python = ">=3.12,<3.14"
dependencies = ["skyrl==${skyrlVersion}", "aiohttp"]
[project.optional-dependencies]
tinker = ["skyrl[tinker]==${skyrlVersion}"]
jax = ["skyrl[jax]==${skyrlVersion}"]
[tool.uv]
package = false
exclude-dependencies = ["triton", "cuda-bindings", "nvidia-cusolver", "nvidia-nvtx"]
`;

/** Fixed sizes of batches: each new one costs seconds, because JAX compiles for it. */
const backendConfig = JSON.stringify({
  max_lora_adapters: 16,
  train_micro_batch_size: 8,
  sample_max_num_sequences: 64,
});

/**
 * Starts SkyRL's server for a model folder, with JAX on the CPU. `folder` gets its state and its log. The Python
 * environment (5 GB of downloads, Python 3.12) is made once, in the user's cache.
 */
export async function startSkyrl(options: { readonly model: string; readonly folder: string }): Promise<SkyrlServer> {
  const { model, folder } = options;
  const environment = await provideUvProject({
    ...{ name: "skyrl", project, extras: ["tinker", "jax"], download: "5 GB" },
  });
  // A newer SkyRL, over the packages of the released one.
  const source = process.env.LYCEUM_SKYRL_SOURCE;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await mkdir(folder, { recursive: true });
  const start = async () => {
    const log = openSync(join(folder, "server.log"), "a");
    const server = spawn(
      "uv",
      [
        ...["run", "--frozen", "--extra", "tinker", "--extra", "jax", "-m", "skyrl.tinker.api", "--base-model", model],
        ...["--backend", "jax", "--backend-config", backendConfig],
        ...["--database-url", `sqlite:///${join(folder, "tinker.db")}`, "--checkpoints-base", join(folder, "weights")],
        ...["--host", "127.0.0.1", "--port", String(port)],
      ],
      {
        cwd: environment.project,
        // Its engine is a process of its own. All are ended as one group.
        detached: true,
        stdio: ["ignore", log, log],
        env: {
          ...process.env,
          PATH: `${environment.bin}:${process.env.PATH}`,
          UV_PYTHON: environment.python,
          HF_HUB_OFFLINE: "1",
          JAX_PLATFORMS: "cpu",
          ...(source === undefined ? {} : { PYTHONPATH: source }),
        },
      },
    );
    closeSync(log);
    const exited = new Promise<void>((resolve) => server.once("exit", () => resolve()));
    for (let waited = 0; ; waited++) {
      const answer = await fetch(`${url}/api/v1/healthz`).catch(() => undefined);
      if (answer?.ok) break;
      if (server.exitCode !== null || waited > 240) throw new Error(await readFile(join(folder, "server.log"), "utf8"));
      await sleep(1000);
    }
    return async () => {
      process.kill(-server.pid!, "SIGKILL");
      await exited;
    };
  };
  let stop = await start();
  return {
    url,
    restart: async () => {
      await stop();
      stop = await start();
    },
    [Symbol.asyncDispose]: () => stop(),
  };
}
