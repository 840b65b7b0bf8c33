import { once } from "node:events";
import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { torchNodeCommand } from "../../cli/torch-node-command.ts";
import type { Sample } from "../../src/contract/sampler.ts";
import type { Model, ModelSource, TrainableSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { backendOn } from "../../trainers/backends/torch/backend.ts";
import { createTorchBackend } from "../../trainers/backends/torch/index.ts";
import { WorkerProcess } from "../../trainers/backends/torch/worker-process.ts";
import { exampleData } from "../../trainers/testing/model-subject.ts";
import { tinyConfig } from "../backends/onnx/tiny-config.ts";
import { describeBackend } from "../trainers/describe-backend.ts";
import { torchPython } from "./torch-python.ts";

const python = await torchPython();
const alone = { python, device: "cpu", threads: 1 } as const;
const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
const trainables: Readonly<Record<string, TrainableSpec>> = {
  lora: { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } },
  full: { type: "full" },
};
const adam = { learningRate: 1e-2, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };

/** Four steps on batches of four, one, three and two rows. The second leaves one of two processes without work. */
async function train(model: Model, from = 0): Promise<number[]> {
  const data = exampleData(5);
  const batches = [data, data.slice(2, 3), data.slice(1), data.slice(0, 2)];
  const numbers: number[] = [];
  for (const [step, batch] of batches.entries()) {
    const { loss, logprobs, values } = await model.forwardBackward(batch, [
      { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
      { type: "entropy", weight: 0.01 },
      { type: "value", weight: 0.5 },
    ]);
    const { gradientNorm } = await model.optimStep(adam, { stepId: from + step });
    numbers.push(loss, gradientNorm, ...logprobs.flatMap((row) => [...row]), ...values!.flatMap((row) => [...row]));
  }
  return numbers;
}

async function sampled(model: Model): Promise<Pick<Sample, "request" | "ids" | "logprobs">[]> {
  const sampler = await model.snapshot();
  const { stopTokenIds } = model.renderer;
  const requests = Array.from({ length: 5 }, (_, seed) => ({
    promptIds: [72, 105, 32 + (seed >> 1)],
    seed,
    settings: { temperature: 1, topP: 0.9, maxTokens: 3 + 2 * seed },
    stopTokenIds,
  }));
  const samples: Sample[] = [];
  for await (const sample of sampler.sample(requests)) samples.push(sample);
  await sampler.close();
  return samples
    .sort((a, b) => a.request - b.request)
    .map(({ request, ids, logprobs }) => ({ request, ids, logprobs }));
}

/** The largest difference of two lists, relative to the size of their numbers. */
function difference(actual: readonly number[], expected: readonly number[]): number {
  expect(actual).toHaveLength(expected.length);
  return Math.max(...actual.map((value, i) => Math.abs(value - expected[i]!) / Math.max(1, Math.abs(expected[i]!))));
}

const open = (backend: TrainingBackend, trainable: TrainableSpec, from: ModelSource = source): Promise<Model> =>
  backend.openModel({ source: from, trainable, valueHead: true });

describe.each(["ddp", "fsdp"] as const)("two processes with %s", (strategy) => {
  let one: TrainingBackend;
  let two: TrainingBackend;
  beforeAll(async () => {
    [one, two] = await Promise.all([
      createTorchBackend(alone),
      createTorchBackend({ ...alone, processes: 2, strategy }),
    ]);
  });
  afterAll(() => Promise.all([one?.close(), two?.close()]));

  it.each(Object.keys(trainables))("have the losses, weights and samples of one: %s", async (kind) => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
    const found: { readonly numbers: number[]; readonly samples: unknown; readonly weights: Buffer }[] = [];
    for (const [name, backend] of Object.entries({ one, two })) {
      const model = await open(backend, trainables[kind]!);
      const numbers = await train(model);
      const samples = await sampled(model);
      const exported = path.join(folder.path, name);
      await model.export(exported, "huggingface", { dtype: "float32" });
      await model.close();
      const file = (await readdir(exported)).find((entry) => entry === "model.safetensors")!;
      found.push({ numbers, samples, weights: await readFile(path.join(exported, file)) });
    }
    const [expected, actual] = found as [(typeof found)[0], (typeof found)[0]];
    expect(difference(actual.numbers, expected.numbers)).toBeLessThan(1e-5);
    expect((actual.samples as Sample[]).map(({ ids }) => ids)).toEqual(
      (expected.samples as Sample[]).map(({ ids }) => ids),
    );
    expect(difference(weightsOf(actual.weights), weightsOf(expected.weights))).toBeLessThan(1e-5);
  });

  it.each(Object.keys(trainables))("continue a checkpoint of one, and one continues theirs: %s", async (kind) => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      const saved = path.join(folder.path, from === one ? "one" : "two");
      const first = await open(from, trainables[kind]!);
      await train(first);
      await first.save(saved);
      const expected = await train(first, 10);
      await first.close();
      const second = await open(to, trainables[kind]!);
      await second.load(saved);
      expect(difference(await train(second, 10), expected)).toBeLessThan(1e-5);
      await second.close();
    }
  });

  it("train several adapters on one base, and sample from earlier weights", async () => {
    const numbers: number[][] = [];
    for (const backend of [one, two]) {
      const models = [
        await open(backend, trainables.lora!),
        await open(backend, { type: "lora", lora: { rank: 2, alpha: 8, seed: 4 } }),
      ];
      const before = await models[0]!.snapshot();
      const trained = [await train(models[0]!), await train(models[1]!)];
      const scores = await before.score!({ ids: [72, 105, 33, 40, 41, 42] });
      numbers.push([...trained.flat(), ...scores.logprobs]);
      await before.close();
      for (const model of models) await model.close();
    }
    expect(difference(numbers[1]!, numbers[0]!)).toBeLessThan(1e-5);
  });
});

describeBackend("the PyTorch backend with two processes, data parallel,", {
  create: () => createTorchBackend({ ...alone, processes: 2 }),
  specs: { lora: { source, trainable: trainables.lora! } },
});

describeBackend("the PyTorch backend with two processes, sharded,", {
  create: () => createTorchBackend({ ...alone, processes: 2, strategy: "fsdp" }),
  specs: { full: { source, trainable: { type: "full" } } },
});

describe("several processes", () => {
  it("end with a typed error if one is killed, and none is left", async () => {
    const worker = await WorkerProcess.start(python, { device: "cpu", threads: 1, processes: 2 });
    await using backend = backendOn(worker);
    const model = await open(backend, trainables.lora!);
    await train(model);
    const pids = await descendants(worker.pid!);
    expect(pids.length).toBeGreaterThanOrEqual(2);
    process.kill(pids.at(-1)!, "SIGKILL");
    await expect(train(model, 10)).rejects.toMatchObject({ code: "backend.failed" });
    await vi.waitFor(async () => expect(await living(pids)).toEqual([]), { timeout: 40_000, interval: 200 });
  });

  it("end if their start is aborted", async () => {
    const controller = new AbortController();
    const started = createTorchBackend({ ...alone, processes: 2, signal: controller.signal });
    await setTimeout(3000);
    controller.abort(new Error("enough"));
    await expect(started).rejects.toThrow("enough");
  });
});

describe("a second machine", () => {
  /** Starts a run on two machines, here of this computer. `second` ends as `lyceum torch-node` does. */
  async function start(): Promise<{ readonly worker: WorkerProcess; readonly second: Promise<void> }> {
    const place = { nodes: 2, processes: 1, rendezvous: `127.0.0.1:${await freePort()}` };
    const output = new PassThrough().resume();
    const second = torchNodeCommand({ node: 1, python, ...place }, { output, signal: new AbortController().signal });
    second.catch(() => undefined);
    return { worker: await WorkerProcess.start(python, { device: "cpu", threads: 1, ...place }), second };
  }

  it("ends well when the run has ended", async () => {
    const { worker, second } = await start();
    await using backend = backendOn(worker);
    expect(worker.info.processes).toBe(2);
    await train(await open(backend, trainables.lora!));
    await backend.close();
    await expect(second).resolves.toBeUndefined();
  });

  it("ends with an error when the first one has failed", async () => {
    const { worker, second } = await start();
    await using _ = worker;
    process.kill((await descendants(worker.pid!)).at(-1)!, "SIGKILL");
    await expect(second).rejects.toMatchObject({ code: "backend.failed" });
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function descendants(pid: number): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ").filter(Boolean);
  const deeper = await Promise.all(children.map((child) => descendants(Number(child))));
  return [...children.map(Number), ...deeper.flat()];
}

async function living(pids: readonly number[]): Promise<number[]> {
  const states = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/stat`, "utf8")
        .then((text) => text.split(") ")[1]![0]!)
        .catch(() => "X"),
    ),
  );
  return pids.filter((_, i) => !["X", "Z"].includes(states[i]!));
}

/** The float32 numbers of a safetensors file, in the order of their names. */
function weightsOf(file: Buffer): number[] {
  const length = Number(file.readBigUInt64LE());
  const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Record<
    string,
    { readonly data_offsets: readonly [number, number] }
  >;
  return Object.entries(header)
    .filter(([name]) => name !== "__metadata__")
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(
      ([
        ,
        {
          data_offsets: [start, end],
        },
      ]) => {
        const bytes = new Uint8Array(file.subarray(8 + length + start, 8 + length + end));
        return [...new Float32Array(bytes.buffer)];
      },
    );
}
