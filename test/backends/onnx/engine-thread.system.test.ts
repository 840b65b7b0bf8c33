import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import path from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Sample } from "../../../src/contract/sampler.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { Model, ModelSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createEngine } from "../../../trainers/backends/onnx/engine/engine.ts";
import { createOnnxBackend, type OnnxBackendOptions } from "../../../trainers/backends/onnx/index.ts";
import { readGradients } from "../../../trainers/backends/onnx/inspect.ts";
import { tinyConfig } from "./tiny-config.ts";

const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
const full: ModelSpec = { source, trainable: { type: "full" } };
const lora: ModelSpec = { source, trainable: { type: "lora", lora: { rank: 2, alpha: 4, seed: 2 } } };
const terms: LossTerm[] = [{ type: "crossEntropy" }];
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };

/** Sequences of 10 tokens. The micro-batch is so small that each sequence is a separate run. */
function exampleData(count: number, seed = 1): Datum[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => {
    const ids = Array.from({ length: 11 }, () => random.integer(0, 255));
    return datumFromIds({ ids, mask: ids.map(() => 1) });
  });
}

function openBackend(options: OnnxBackendOptions = {}): Promise<TrainingBackend> {
  return createOnnxBackend({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 10, decodeBatchSize: 2, ...options });
}

function requests(count: number, maxTokens: number) {
  return Array.from({ length: count }, (_, seed) => ({
    promptIds: [65, 66],
    settings: { temperature: 1, maxTokens },
    seed,
    stopTokenIds: [],
  }));
}

async function collect(samples: AsyncIterable<Sample>): Promise<Sample[]> {
  const all: Sample[] = [];
  for await (const sample of samples) all.push(sample);
  return all;
}

/** Returns all gradients of a model as one array. */
async function gradientOf(model: Model): Promise<number[]> {
  return [...(await readGradients(model)).values()].flatMap(({ data }) => [...data]);
}

/** Aborts after a few turns of the event loop, while the engine works. */
function abortSoon(reason?: unknown): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 20);
  return controller.signal;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("an aborted call", () => {
  it("rejects with the signal's reason, adds nothing to the gradient, and leaves the engine usable", async () => {
    await using backend = await openBackend();
    const model = await backend.openModel(full);
    const data = exampleData(3);
    await model.forwardBackward(data, terms);
    const before = await gradientOf(model);
    const reason = new Error("enough");
    // Enough work that only an abort ends it within the test's time.
    const long = exampleData(10_000, 2);
    await expect(model.forwardBackward(long, terms, { signal: abortSoon(reason) })).rejects.toBe(reason);
    await expect(model.forward(long, { outputs: ["logprobs"], signal: abortSoon(reason) })).rejects.toBe(reason);
    expect(await gradientOf(model)).toEqual(before);
    await model.forwardBackward(data, terms);
    expect(await gradientOf(model)).toEqual(before.map((slope) => Math.fround(2 * slope)));
    expect((await model.optimStep(adam, { stepId: 1 })).version).toBe(1);
  });

  it("of sampling has reported the number of tokens so far", async () => {
    await using backend = await openBackend();
    const sampler = await (await backend.openModel(lora)).snapshot();
    const stop = new AbortController();
    const counts: number[] = [];
    const onTokens = (count: number): void => {
      if (counts.push(count) === 2) stop.abort();
    };
    await expect(collect(sampler.sample(requests(20_000, 20), { signal: stop.signal, onTokens }))).rejects.toThrow();
    expect(counts[0]).toBeGreaterThan(0);
    expect(counts[1]).toBeGreaterThan(counts[0]!);
    expect(counts.every(Number.isSafeInteger)).toBe(true);
  });

  it("takes effect between any two runs", async () => {
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 10, decodeBatchSize: 1 });
    const { model } = await engine.open(full as { source: typeof source; trainable: { type: "full" } });
    const { sampler } = await engine.snapshot({ model });
    const { signal } = new AbortController();
    const looks = vi.spyOn(signal, "throwIfAborted");
    const context = { signal, emit: () => undefined };
    await engine.forward({ model, data: exampleData(6), outputs: ["logprobs"] }, context);
    expect(looks.mock.calls.length).toBeGreaterThanOrEqual(6);
    looks.mockClear();
    await engine.forwardBackward({ model, data: exampleData(6), terms }, context);
    expect(looks.mock.calls.length).toBeGreaterThanOrEqual(6);
    looks.mockClear();
    // Two prompts one after the other, six tokens each. The prefill gives the first one.
    await engine.sample({ sampler, requests: requests(2, 6) }, context);
    expect(looks.mock.calls.length).toBeGreaterThanOrEqual(12);
    looks.mockClear();
    // Four prompts that are prefilled one by one before the first step.
    const prompts = [1, 2, 3, 4].map((id) => ({ ...requests(1, 1)[0]!, promptIds: Array(10).fill(id) }));
    const wide = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 10, decodeBatchSize: 4 });
    await wide.open(full as { source: typeof source; trainable: { type: "full" } });
    await wide.snapshot({ model: 1 });
    await wide.sample({ sampler: 2, requests: prompts }, context);
    expect(looks.mock.calls.length).toBeGreaterThanOrEqual(4);
  });

  it("of sampling returns the finished samples, and the sampler stays usable", async () => {
    await using backend = await openBackend();
    const sampler = await (await backend.openModel(lora)).snapshot();
    const stop = new AbortController();
    const given: Sample[] = [];
    const sampling = async (): Promise<void> => {
      for await (const sample of sampler.sample(requests(20_000, 20), { signal: stop.signal })) {
        given.push(sample);
        stop.abort();
      }
    };
    await expect(sampling()).rejects.toMatchObject({ name: "AbortError" });
    expect(given.length).toBeGreaterThan(0);
    expect(given.length).toBeLessThan(20_000);
    expect(await collect(sampler.sample(requests(3, 5)))).toHaveLength(3);
  });

  it("of single requests drops them from their batch, and the others continue", async () => {
    await using backend = await openBackend();
    const sampler = await (await backend.openModel(lora)).snapshot();
    const asked = requests(20_000, 20);
    const kept = [5, 19_999];
    const [dropping, open] = [new AbortController(), new AbortController()];
    const signals = asked.map((_, index) => (kept.includes(index) ? open.signal : dropping.signal));
    const onSampled = (): void => dropping.abort();
    const samples = await collect(sampler.sample(asked, { signals, onSampled }));
    // The first requests may end before the abort arrives.
    expect(samples.length).toBeLessThan(10_000);
    const alone = await collect(sampler.sample(kept.map((index) => asked[index]!)));
    for (const [place, index] of kept.entries()) {
      const found = samples.find(({ request }) => request === index);
      expect(found?.ids).toEqual(alone.find(({ request }) => request === place)!.ids);
    }
    for (const signal of [dropping.signal, open.signal]) expect(getEventListeners(signal, "abort")).toEqual([]);
    // Aborted before the call.
    const stopped = asked.map((_, index) => (index === 7 ? open.signal : dropping.signal));
    expect((await collect(sampler.sample(asked, { signals: stopped }))).length).toBeLessThan(10_000);
  });

  it("of sampling is the same as a consumer's break", async () => {
    await using backend = await openBackend();
    const sampler = await (await backend.openModel(full)).snapshot();
    for await (const { ids } of sampler.sample(requests(20_000, 20))) {
      expect(ids).toHaveLength(20);
      break;
    }
    // Answered only after the engine has stopped working on the 20,000 tokens.
    expect(await collect(sampler.sample(requests(1, 5)))).toHaveLength(1);
  });

  it("that waits for others never begins", async () => {
    await using backend = await openBackend();
    const model = await backend.openModel(full);
    const stop = new AbortController();
    const first = model.forward(exampleData(20), { outputs: ["logprobs"] });
    const second = model.forwardBackward(exampleData(2), terms, { signal: stop.signal });
    stop.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    expect(await first).toHaveLength(20);
    expect(await gradientOf(model)).toEqual([]);
  });
});

describe("an error in the engine", () => {
  it("reaches the caller with its code and hint, and leaves the engine usable", async () => {
    await using backend = await openBackend();
    const model = await backend.openModel(full);
    const data = exampleData(2);
    const poisoned = data.map((datum) => ({ ...datum, advantages: datum.lossMask.map(() => Number.NaN) }));
    await expect(model.forwardBackward(poisoned, [{ type: "policyGradient" }])).rejects.toMatchObject({
      code: "backend.not-finite",
      hint: expect.stringContaining("learningRate"),
    });
    const frozen = await backend.openModel({ source, trainable: { type: "frozen" } });
    await expect(frozen.forwardBackward(data, terms)).rejects.toMatchObject({
      code: "backend.unsupported",
      hint: expect.any(String),
    });
    await frozen.close();
    await expect(frozen.forward(data, { outputs: ["logprobs"] })).rejects.toMatchObject({
      code: "backend.failed",
      message: expect.stringContaining("closed"),
      hint: expect.any(String),
    });
    expect((await model.forwardBackward(data, terms)).loss).toBeGreaterThan(0);
  });

  it("of memory for too large a model has its own message", async () => {
    await using backend = await openBackend();
    const config = { ...tinyConfig, hidden_size: 1_000_000, vocab_size: 1_000_000 };
    await expect(backend.openModel({ ...full, source: { ...source, config } })).rejects.toMatchObject({
      code: "backend.unsupported",
      message: expect.stringContaining("memory"),
      hint: expect.any(String),
    });
    await backend.openModel(full);
  });

  it("in sending a call leaves no pending call", async () => {
    const backend = await openBackend();
    const model = await backend.openModel(full);
    const [datum] = exampleData(1);
    const foreign = { ...datum!, note: () => undefined } as Datum;
    await expect(model.forward([foreign], { outputs: ["logprobs"] })).rejects.toThrow("could not be cloned");
    expect(await model.forward([datum!], { outputs: ["logprobs"] })).toHaveLength(1);
    await backend.close();
  });
});

describe("the engine's thread", () => {
  it("sends the sampled tokens of each step in one message, and only if asked", async () => {
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 10, decodeBatchSize: 2 });
    const { model } = await engine.open(full as { source: typeof source; trainable: { type: "full" } });
    const { sampler } = await engine.snapshot({ model });
    const { signal } = new AbortController();
    const items: unknown[] = [];
    const emit = (item: unknown): void => void items.push(item);
    await engine.sample({ sampler, requests: requests(2, 4) }, { signal, emit });
    expect(items.filter(Array.isArray)).toEqual([]);
    items.length = 0;
    await engine.sample({ sampler, requests: requests(2, 4), reportTokens: true }, { signal, emit });
    // One message for both requests: the prefill and three steps.
    expect(items.filter(Array.isArray).map((step) => step.map(({ request }) => request))).toEqual(
      Array(4).fill([0, 1]),
    );
  });

  it("samples no further while the receiver of the tokens is behind", async () => {
    const engine = createEngine({ device: "cpu", threads: 1, maxTokensPerMicroBatch: 10, decodeBatchSize: 2 });
    const { model } = await engine.open(full as { source: typeof source; trainable: { type: "full" } });
    const { sampler } = await engine.snapshot({ model });
    const { signal } = new AbortController();
    let isBehind = false;
    const emitted: boolean[] = [];
    const emit = (): void => void emitted.push(isBehind);
    const room = async (): Promise<void> => {
      isBehind = true;
      await new Promise((resolve) => setTimeout(resolve, 20));
      isBehind = false;
    };
    await engine.sample({ sampler, requests: requests(2, 4), reportTokens: true }, { signal, emit, room });
    expect(emitted.length).toBeGreaterThan(4);
    expect(emitted).not.toContain(true);
  });

  it("rejects every running and later call if it dies, and closing succeeds", async () => {
    let thread: Worker | undefined;
    const original = Worker.prototype.postMessage;
    vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...message) {
      thread = this;
      return original.apply(this, message);
    });
    const backend = await openBackend();
    const model = await backend.openModel(full);
    const sampler = await model.snapshot();
    const data = exampleData(2000);
    const calls = [
      model.forwardBackward(data, terms),
      model.forward(data, { outputs: ["logprobs"] }),
      collect(sampler.sample(requests(500, 20))),
      model.save("/nowhere"),
    ].map((call) => expect(call).rejects.toMatchObject({ code: "backend.failed", hint: expect.any(String) }));
    await thread!.terminate();
    await Promise.all(calls);
    const later = expect(model.optimStep(adam, { stepId: 1 })).rejects;
    await later.toMatchObject({ code: "backend.failed", message: expect.stringContaining("stopped") });
    await model.close();
    await sampler.close();
    await backend.close();
  });

  it("leaves the caller's event loop free while it works", async () => {
    await using backend = await openBackend();
    const model = await backend.openModel(full);
    let ticks = 0;
    let working = true;
    const ticking = (async () => {
      while (working) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        ticks++;
      }
    })();
    await model.forwardBackward(exampleData(300), terms);
    working = false;
    await ticking;
    expect(ticks).toBeGreaterThan(10);
  });

  it("answers two concurrent models as if each were alone", async () => {
    const run = async (model: Model): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (let step = 1; step <= 3; step++) {
        found.push((await model.forwardBackward(exampleData(4, step), terms)).loss);
        found.push(await model.optimStep(adam, { stepId: step }));
        found.push(await collect((await model.snapshot()).sample(requests(3, 6))));
      }
      return found;
    };
    const alone: unknown[][] = [];
    for (const spec of [full, lora, lora]) {
      await using backend = await openBackend();
      alone.push(await run(await backend.openModel(spec)));
    }
    await using backend = await openBackend();
    const models = await Promise.all([full, lora, lora].map((spec) => backend.openModel(spec)));
    expect(await Promise.all(models.map(run))).toEqual(alone);
  });

  it("stops if it is closed while it works, and rejects running calls", async () => {
    const backend = await openBackend();
    const model = await backend.openModel(full);
    const sampler = await model.snapshot();
    const closed = { code: "backend.failed", message: expect.stringContaining("closed"), hint: expect.any(String) };
    const calls = [
      model.forwardBackward(exampleData(100_000), terms),
      collect(sampler.sample(requests(20_000, 20))),
    ].map((call) => expect(call).rejects.toMatchObject(closed));
    await Promise.all([backend.close(), backend.close(), ...calls]);
    await expect(model.forward(exampleData(1), { outputs: ["logprobs"] })).rejects.toMatchObject(closed);
    await expect(backend.openModel(full)).rejects.toMatchObject(closed);
    await model.close();
    await sampler.close();
  });
});

describe("a process", () => {
  const engine = path.join(import.meta.dirname, "../../../trainers/backends/onnx/index.ts");
  const run = (script: string) => {
    const lines = `
      const { createOnnxBackend } = await import(${JSON.stringify(engine)});
      const backend = await createOnnxBackend({ device: "cpu", threads: 1 });
      const source = ${JSON.stringify(source)};
      const model = await backend.openModel({ source, trainable: { type: "full" } });
      const data = [{ tokens: Int32Array.of(1, 2), targets: Int32Array.of(2, 3), lossMask: Float32Array.of(1, 1) }];
      ${script}`;
    return promisify(execFile)(process.execPath, ["--input-type=module", "-e", lines], { timeout: 300_000 });
  };

  it("ends by itself, without output, if the engine is idle, whatever is still open", async () => {
    const { stdout, stderr } = await run(`
      await model.forwardBackward(data, [{ type: "crossEntropy" }]);
      const sampler = await model.snapshot();
      const request = { promptIds: [1], settings: { temperature: 1, maxTokens: 3 }, seed: 0, stopTokenIds: [] };
      for await (const sample of sampler.sample([request])) console.log(sample.ids.length);
      await model.forward([{ ...data[0], note: () => 1 }], { outputs: ["logprobs"] }).catch(() => console.log("refused"));`);
    expect(stdout).toBe("3\nrefused\n");
    expect(stderr).toBe("");
  });

  it("stays alive while the engine works for it", async () => {
    const { stdout } = await run(`
      model.forwardBackward(data, [{ type: "crossEntropy" }]).then(({ tokens }) => console.log(tokens));`);
    expect(stdout).toBe("2\n");
  });
});
