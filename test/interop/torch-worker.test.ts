import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, inject, it, vi } from "vitest";
import { datumFromIds } from "../../trainers/backend/datum.ts";
import { backendOn } from "../../trainers/backends/torch/backend.ts";
import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { WorkerProcess } from "../../trainers/backends/torch/worker-process.ts";
import { exampleData } from "../../trainers/testing/model-subject.ts";
import { tinyConfig } from "../backends/onnx/tiny-config.ts";
import { torchPython } from "./torch-python.ts";

const python = await torchPython();
const { quick } = inject("interop");
const spec = {
  source: { type: "scratch", config: tinyConfig, seed: 1 },
  trainable: { type: "lora", lora: { seed: 3 } },
} as const;
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };
const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("a worker that cannot work is refused", () => {
  /** Creates an executable that is started instead of Python. */
  async function fakePython(folder: string, script: string): Promise<string> {
    const file = path.join(folder, "python");
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o755);
    return file;
  }

  it.each([
    ["that does not exist", undefined, "backend.unsupported", /cannot be started/],
    [
      "without torch",
      "echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1",
      "backend.unsupported",
      /has no package torch/,
    ],
    ["that ends", "echo broken >&2; exit 3", "backend.failed", /ended with code 3.*broken/s],
    [
      "that announces 1 GB",
      "printf '\\000\\000\\000\\100\\000\\000\\000\\000' >&3; sleep 60",
      "backend.failed",
      /announces 1073741824/,
    ],
    [
      "that writes text into its stream",
      "echo 'Hello, I am no frame at all' >&3; sleep 60",
      "backend.failed",
      /no frame/,
    ],
  ])("an interpreter %s", async (_, script, code, message) => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
    const file = script === undefined ? path.join(folder.path, "none") : await fakePython(folder.path, script);
    await expect(WorkerProcess.start(file, {})).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it("with a reason if its start is aborted", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
    const file = await fakePython(folder.path, "sleep 60");
    await expect(WorkerProcess.start(file, {}, AbortSignal.timeout(200))).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });
});

describe("the PyTorch worker", () => {
  it("refuses a card that PyTorch does not find", async () => {
    vi.stubEnv("CUDA_VISIBLE_DEVICES", "");
    await expect(createTorchBackend({ python, device: "cuda" })).rejects.toMatchObject({
      code: "backend.unsupported",
      message: expect.stringMatching(/cuda/),
    });
    vi.unstubAllEnvs();
  });

  it("is not disturbed by what a package prints", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
    await writeFile(path.join(folder.path, "sitecustomize.py"), "print('printed by a package')\n");
    vi.stubEnv("PYTHONPATH", folder.path);
    await using backend = await createTorchBackend({ python, device: "cpu", threads: 1 });
    vi.unstubAllEnvs();
    await (await backend.openModel(spec)).close();
  });

  it("fails the call in which it is killed, and a resumed training equals one without a kill", async () => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
    const data = exampleData(1);
    const train = async (worker: WorkerProcess, killAfter?: number): Promise<void> => {
      const backend = backendOn(worker);
      const model = await backend.openModel(spec);
      if (killAfter !== undefined) void setTimeout(killAfter).then(() => process.kill(worker.pid!, "SIGKILL"));
      for (let step = 1; step <= 500; step++) {
        await model.forwardBackward(data, [{ type: "crossEntropy" }]);
        await model.optimStep(adam, { stepId: step });
      }
    };
    for (const killAfter of quick ? [300] : [0, 50, 100, 200, 300, 500, 700, 900, 1200, 1500]) {
      const worker = await WorkerProcess.start(python, { device: "cpu", threads: 1 });
      await expect(train(worker, killAfter)).rejects.toMatchObject({
        code: "backend.failed",
        message: expect.stringMatching(/SIGKILL/),
      });
      await worker[Symbol.asyncDispose]();
    }
    await using backend = await createTorchBackend({ python, device: "cpu", threads: 1 });
    const [whole, first] = [await backend.openModel(spec), await backend.openModel(spec)];
    const saved = path.join(folder.path, "saved");
    for (let step = 1; step <= 4; step++) {
      for (const model of step <= 2 ? [whole, first] : [whole]) {
        await model.forwardBackward(data, [{ type: "crossEntropy" }]);
        await model.optimStep(adam, { stepId: step });
      }
      if (step === 2) await first.save(saved);
    }
    await using again = await createTorchBackend({ python, device: "cpu", threads: 1 });
    const resumed = await again.openModel(spec);
    await resumed.load(saved);
    for (let step = 3; step <= 4; step++) {
      await resumed.forwardBackward(data, [{ type: "crossEntropy" }]);
      await resumed.optimStep(adam, { stepId: step });
    }
    const outputs = { outputs: ["logprobs"] } as const;
    expect(await resumed.forward(data, outputs)).toEqual(await whole.forward(data, outputs));
  });

  it("goes on after an interrupt of the terminal, and after an error of the caller's own function", async () => {
    await using worker = await WorkerProcess.start(python, { device: "cpu", threads: 1 });
    const model = await backendOn(worker).openModel(spec);
    process.kill(worker.pid!, "SIGINT");
    const sampler = await model.snapshot();
    const requests = [{ promptIds: [65], settings: { temperature: 1, maxTokens: 8 }, seed: 1, stopTokenIds: [] }];
    const onSampled = (): never => {
      throw new Error("of the caller");
    };
    await expect(Array.fromAsync(sampler.sample(requests, { onSampled }))).rejects.toThrow("of the caller");
    expect(await Array.fromAsync(sampler.sample(requests))).toHaveLength(1);
    // The second call waits for the first one, and its abort does not.
    const long = [{ ...requests[0]!, settings: { temperature: 1, maxTokens: 60 } }];
    const first = Array.fromAsync(sampler.sample(long));
    const stop = new AbortController();
    const second = Array.fromAsync(sampler.sample(long, { signal: stop.signal }));
    stop.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    expect(await first).toHaveLength(1);
  });

  it("ends when its parent is killed", async () => {
    const program = `
      import { WorkerProcess } from ${JSON.stringify(path.resolve("trainers/backends/torch/worker-process.ts"))};
      const worker = await WorkerProcess.start(${JSON.stringify(python)}, { device: "cpu", threads: 1 });
      console.log(worker.pid);
      setInterval(() => undefined, 1000);`;
    const importer = path.resolve("scripts/import-from-source.ts");
    const parent = spawn(process.execPath, ["--import", importer, "--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [printed] = (await once(parent.stdout!, "data")) as [Buffer];
    const pid = Number(printed.toString());
    expect(isRunning(pid)).toBe(true);
    parent.kill("SIGKILL");
    for (let waited = 0; isRunning(pid) && waited < 100; waited++) await setTimeout(100);
    expect(isRunning(pid)).toBe(false);
  });

  it("does not keep an idle program alive", async () => {
    const program = `
      import { createTorchBackend } from ${JSON.stringify(path.resolve("trainers/backends/torch/index.ts"))};
      await createTorchBackend({ python: ${JSON.stringify(python)}, device: "cpu", threads: 1 });`;
    const importer = path.resolve("scripts/import-from-source.ts");
    const child = spawn(process.execPath, ["--import", importer, "--input-type=module", "--eval", program], {
      stdio: "inherit",
    });
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});

it("recomputes activations: the same gradient with less memory", async () => {
  const config = {
    ...tinyConfig,
    hidden_size: 256,
    intermediate_size: 1024,
    num_hidden_layers: 12,
    head_dim: 64,
    max_position_embeddings: 128,
  };
  const data = Array.from({ length: 8 }, (_, seed) => {
    const ids = Array.from({ length: 120 }, (_, i) => 33 + ((7 * i + seed) % 90));
    return datumFromIds({ ids, mask: ids.map(() => 1) });
  });
  const measured = async (recompute: boolean) => {
    const worker = await WorkerProcess.start(python, { device: "cpu", threads: 1, recompute });
    await using backend = backendOn(worker);
    const model = await backend.openModel({ source: { type: "scratch", config, seed: 1 }, trainable: spec.trainable });
    const peak = async (): Promise<number> =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${worker.pid}/status`, "utf8"))![1]);
    const before = await peak();
    await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    const { gradientNorm } = await model.optimStep(adam, { stepId: 1 });
    return { gradientNorm, grown: (await peak()) - before };
  };
  const [kept, recomputed] = [await measured(false), await measured(true)];
  expect(recomputed.gradientNorm).toBeCloseTo(kept.gradientNorm, 3);
  expect(recomputed.grown).toBeLessThan(0.8 * kept.grown);
});
