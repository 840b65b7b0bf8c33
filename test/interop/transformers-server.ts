import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { freePort } from "./free-port.ts";
import { pythonOf } from "./python-environment.ts";
import { cacheFolder } from "./serving-packages.ts";

/** The timeout of loading a model. */
const startMs = 600_000;

/** A running `transformers serve`. */
export interface TransformersServer extends AsyncDisposable {
  /** The address of its API. */
  readonly baseUrl: string;
}

/** Serves the model of a folder by `transformers serve` on the CPU, in float32. Dispose of it after use. */
export async function startTransformersServer(options: {
  readonly environment: string;
  readonly packages: string;
  readonly model: string;
}): Promise<TransformersServer> {
  const { environment, packages, model } = options;
  const port = await freePort();
  const cache = cacheFolder(packages);
  await mkdir(cache, { recursive: true });
  const child = spawn(
    pythonOf(environment),
    ["-c", "from transformers.cli.transformers import main; main()", "serve", model].concat([
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--device",
      "cpu",
      "--dtype",
      "float32",
    ]),
    {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        ...process.env,
        PYTHONPATH: packages,
        PYTHONDONTWRITEBYTECODE: "1",
        HF_HUB_OFFLINE: "1",
        HF_HUB_CACHE: cache,
        CUDA_VISIBLE_DEVICES: "",
      },
    },
  );
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const server: TransformersServer = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
  const deadline = performance.now() + startMs;
  while (child.exitCode === null && performance.now() < deadline) {
    const answers = await fetch(`http://127.0.0.1:${port}/health`).then(
      () => true,
      () => false,
    );
    if (answers) return server;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await server[Symbol.asyncDispose]();
  throw new Error(`transformers serve did not start:\n${errors}`);
}
