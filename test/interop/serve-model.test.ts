import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { lyceum } from "../cli/run-lyceum.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

/** The answer of python/tinker_sdk.py. */
interface Trained {
  readonly version: string;
  /** The negative log-likelihood before each supervised step, and after the last one. */
  readonly losses: readonly number[];
  readonly trained: number;
  /** The largest difference of a sampled token's log-probability, sampler to trainer, for each policy loss. */
  readonly differences: Readonly<Record<string, number>>;
}

/** Starts `lyceum serve-model` with a tiny model. Returns its address. */
async function serveTinyModel(key: string): Promise<{ readonly url: string; readonly model: string }> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-serve-model-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using backend = await createOnnxBackend({ device: "cpu" });
  const { path } = await tinyModel(backend, folder);
  const ready = Promise.withResolvers<string>();
  const ended = lyceum(["serve-model", path, "--chat-template", "none", "--device", "cpu", "--token", key], {
    folder,
    onOutput: (output, child) => {
      const [, url] = /at (http:\S+)/.exec(output) ?? [];
      if (url === undefined) return;
      ready.resolve(url);
      onTestFinished(async () => {
        child.kill("SIGTERM");
        await ended;
      });
    },
  });
  void ended.then(({ stderr }) => ready.reject(new Error(stderr)));
  return { url: await ready.promise, model: path };
}

test.each(["0.38.0", "0.24.1", "0.18.2"])("the official SDK %s trains and samples a served model", async (version) => {
  const environment = await providePythonEnvironment({
    name: `tinker-${version}`,
    requirements: `tinker-${version}-requirements.txt`,
    download: "60 MB",
  });
  const key = "tml-test";
  const { url, model } = await serveTinyModel(key);
  const request = { url, key, model };
  const trained = await runPython<Trained>({ environment, script: "tinker_sdk", request, timeoutMs: 300_000 });
  expect(trained.version).toBe(version);
  expect(trained.trained).toBeLessThan(trained.losses[0]! / 2);
  expect(Object.keys(trained.differences)).toEqual(["importance_sampling", "ppo", "cispo"]);
  for (const difference of Object.values(trained.differences)) expect(difference).toBeLessThan(1e-4);
});
