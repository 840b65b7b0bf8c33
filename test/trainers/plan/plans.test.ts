import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { quantizedBytes } from "../../../trainers/model-folders/architecture/quantized-parameters.ts";
import { cacheBytesPerToken } from "../../../trainers/plan/cache-memory.ts";
import type { ClusterOptions } from "../../../trainers/plan/cluster-options.ts";
import { planCluster } from "../../../trainers/plan/cluster-plan.ts";
import { devices } from "../../../trainers/plan/devices.ts";
import { type EngineOptions, planEngine } from "../../../trainers/plan/engine-plan.ts";
import { exactly, interval } from "../../../trainers/plan/interval.ts";
import { modelSize } from "../../../trainers/plan/model-size.ts";
import type { Plan } from "../../../trainers/plan/plan.ts";
import { shapes } from "./shapes.ts";
import { exactWorkload } from "./workloads.ts";

const shape = (name: keyof typeof shapes) => readDecoderConfig(shapes[name].config);
const figure = ({ memory, speed }: Plan, name: string) => [...memory, ...speed].find((one) => one.name === name)!;

function cluster(changes: Partial<ClusterOptions> = {}, name: keyof typeof shapes = "Llama-3-8B"): ClusterOptions {
  const workload = exactWorkload({ batchSize: 32, prompt: 200, completion: 300 });
  return {
    ...{ size: modelSize(shape(name)), adapted: modelSize(shape(name), { type: "lora" }), workload },
    ...{ device: devices.get("h100"), gpus: 8, precision: "bfloat16", recompute: true, microBatch: 4 },
    ...{ decodeBatch: 256, steps: 100, price: 2, ...changes },
  } as ClusterOptions;
}

function engine(changes: Partial<EngineOptions> = {}): EngineOptions {
  const rates = { flops: interval(1e11, 2e11, 3e11), bandwidth: interval(1e10, 2e10, 3e10), operators: exactly(5e5) };
  const config = shape("SmolLM2-135M");
  return {
    ...{ size: modelSize(config), adapted: modelSize(config, { type: "lora" }) },
    ...{ workload: exactWorkload(), maxTokensPerMicroBatch: 2048, steps: 10, price: 1 },
    ...{ rates: { ...rates, threads: 2, memory: 16e9 }, ...changes },
  } as EngineOptions;
}

const lengths = fc.record({ prompt: fc.integer({ min: 1, max: 2000 }), completion: fc.integer({ min: 1, max: 2000 }) });
const ends = ["low", "middle", "high"] as const;
const longer = fc.integer({ min: 1, max: 1000 });

describe.each([
  [
    "on GPUs",
    1,
    (work: Parameters<typeof exactWorkload>[0]) => planCluster(cluster({ workload: exactWorkload(work) })),
  ],
  // The engine can divide longer texts into micro-batches that share more prompts.
  [
    "on the engine",
    0.75,
    (work: Parameters<typeof exactWorkload>[0]) => planEngine(engine({ workload: exactWorkload(work) })),
  ],
] as const)("a plan %s", (_, least, plan) => {
  it("has figures in order, for any lengths", () => {
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 64 }), (length, batchSize) => {
        const { memory, speed } = plan({ ...length, batchSize });
        for (const { low, middle, high, name } of [...memory, ...speed]) {
          expect([name, low <= middle, middle <= high, Number.isFinite(high)]).toEqual([name, true, true, true]);
        }
      }),
      { numRuns: 20 },
    );
  });

  it("needs more time for longer texts and larger batches", () => {
    fc.assert(
      fc.property(lengths, longer, longer, fc.integer({ min: 1, max: 32 }), (length, prompt, completion, batchSize) => {
        const before = plan({ ...length, batchSize });
        const texts = { prompt: length.prompt + prompt, completion: length.completion + completion };
        const fourfold = { prompt: 4 * length.prompt, completion: 4 * length.completion };
        const seconds = (of: Plan, end: (typeof ends)[number]) => figure(of, "one step")[end];
        for (const end of ends) {
          for (const after of [plan({ ...texts, batchSize }), plan({ ...length, batchSize: 2 * batchSize })]) {
            expect(seconds(after, end)).toBeGreaterThanOrEqual(least * seconds(before, end));
          }
          expect(seconds(plan({ ...fourfold, batchSize }), end)).toBeGreaterThanOrEqual(seconds(before, end));
        }
      }),
      { numRuns: 20 },
    );
  });

  it("costs its hours", () => {
    const done = plan({});
    const each = figure(done, "cost").middle / figure(done, "whole run").middle;
    expect([1, 16]).toContain(Math.round(each));
    expect(figure(done, "whole run").middle * 3600).toBeCloseTo(done.steps * figure(done, "one step").middle);
  });
});

describe("planCluster", () => {
  it("needs less memory of each of more GPUs, and less time", () => {
    for (const gpus of [1, 2, 4, 8]) {
      const [few, many] = [planCluster(cluster({ gpus })), planCluster(cluster({ gpus: 2 * gpus }))];
      expect(figure(many, "weights").middle).toBe(figure(few, "weights").middle / 2);
      if (gpus > 1) expect(figure(many, "peak").high).toBeLessThan(figure(few, "peak").high);
      expect(figure(many, "training").low).toBeGreaterThan(figure(few, "training").low);
    }
  });

  it("needs more memory for longer texts and larger micro-batches", () => {
    fc.assert(
      fc.property(lengths, longer, fc.integer({ min: 1, max: 16 }), (length, more, microBatch) => {
        const peak = (changes: Partial<ClusterOptions>) =>
          figure(planCluster(cluster({ microBatch, ...changes })), "peak");
        const workload = exactWorkload(length);
        const long = exactWorkload({ ...length, completion: length.completion + more });
        for (const end of ends) {
          expect(peak({ workload: long })[end]).toBeGreaterThanOrEqual(peak({ workload })[end]);
          expect(peak({ workload, microBatch: 2 * microBatch })[end]).toBeGreaterThanOrEqual(peak({ workload })[end]);
        }
      }),
      { numRuns: 20 },
    );
  });

  it("needs activations and logits for each sequence of a micro-batch", () => {
    for (const name of ["activations", "logits"]) {
      const [one, four] = [1, 4].map((microBatch) => figure(planCluster(cluster({ microBatch })), name).middle);
      expect([name, four! / one!]).toEqual([name, 4]);
    }
  });

  it("limits the speed of a small model by its kernel launches", () => {
    const tiny = modelSize(readDecoderConfig({ ...shapes["SmolLM2-135M"].config, hidden_size: 72, vocab_size: 100 }));
    const { middle } = figure(planCluster(cluster({ gpus: 1, size: tiny })), "training");
    // 32 micro-batches of 4 sequences with 300 tokens each, at 1 ms for each of 30 layers.
    expect(middle).toBeLessThan((4 * 300) / 0.03);
    expect(middle).toBeGreaterThan((0.5 * 4 * 300) / 0.03);
  });

  it("says that the hardware was not tested", () => {
    expect(planCluster(cluster())).toMatchObject({ basis: "not tested", hardware: "8 x NVIDIA H100 SXM 80 GB" });
  });

  it("fits an adapter of Llama 3 8B on one H100, but not its full training", () => {
    const { size, adapted } = cluster();
    expect(planCluster(cluster({ gpus: 1, size: adapted })).fit.fits).toBe("yes");
    expect(planCluster(cluster({ gpus: 1, size })).fit.fits).toBe("no");
  });

  it("names changes that make it fit", () => {
    const { fit } = planCluster(cluster({ gpus: 1 }));
    expect(fit.changes).toContain("an adapter: --set model.adapter.type=lora");
    const gpus = Number(/--gpus (\d+)/.exec(fit.changes.join())![1]);
    expect(planCluster(cluster({ gpus })).fit.fits).toBe("yes");
    expect(gpus).toBeGreaterThan(2);
    expect(planCluster(cluster({ gpus: 2 })).fit.changes).toContain(`${gpus} GPUs: --gpus ${gpus}`);
    expect(planCluster(cluster({ gpus: gpus / 2 })).fit.fits).not.toBe("yes");
    const long = exactWorkload({ batchSize: 16, prompt: 300, completion: 700 });
    const { adapted } = cluster();
    const wide = { gpus: 1, size: adapted, workload: long, microBatch: 64 };
    const [change = ""] = planCluster(cluster(wide)).fit.changes;
    const microBatch = Number(/--micro-batch (\d+)/.exec(change)![1]);
    expect(planCluster(cluster({ ...wide, microBatch })).fit.fits).toBe("yes");
    expect(planCluster(cluster({ ...wide, microBatch: 2 * microBatch })).fit.fits).not.toBe("yes");
  });

  it("splits a sampler over GPUs if its weights leave no room for the cache", () => {
    const device = { ...devices.get("h100"), memory: 20e9 };
    const weights = (gpus: number) => figure(planCluster(cluster({ device, gpus })), "sampler's weights");
    expect(weights(1).middle).toBe(2 * shapes["Llama-3-8B"].parameters);
    expect(weights(8).middle).toBe(shapes["Llama-3-8B"].parameters);
    expect(weights(8).assumption).toMatch(/split over 2 GPUs/);
    // Half as many samplers, each of which reads its weights with two GPUs.
    const rate = (memory: number) =>
      figure(planCluster(cluster({ device: { ...device, memory }, gpus: 8 })), "sampling").middle;
    expect(rate(20e9) / rate(80e9)).toBeGreaterThan(1);
    expect(rate(20e9) / rate(80e9)).toBeLessThan(2);
  });

  it("says if no change is enough", () => {
    const device = { ...devices.get("t4"), memory: 1e9 };
    expect(planCluster(cluster({ device, gpus: 1 })).fit.changes).toEqual([expect.stringMatching(/smaller model/)]);
  });
});

describe("planEngine", () => {
  it("needs more memory for larger batches and micro-batches", () => {
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: 1, max: 32 }),
        fc.integer({ min: 64, max: 4096 }),
        (length, batchSize, most) => {
          const plan = (batch: number, maxTokensPerMicroBatch: number) =>
            planEngine(engine({ workload: exactWorkload({ ...length, batchSize: batch }), maxTokensPerMicroBatch }));
          const [before, batches, tokens] = [
            plan(batchSize, most),
            plan(2 * batchSize, most),
            plan(batchSize, 2 * most),
          ];
          const [least, greatest] = [plan(1, 64), plan(32, 8192)];
          for (const end of ends) {
            // A pass is divided evenly, so the largest micro-batch of a larger pass can be a little smaller. A single
            // micro-batch needs no sum of gradients.
            const others = (of: Plan) => figure(of, "peak")[end] - figure(of, "gradients")[end];
            expect(figure(batches, "peak")[end]).toBeGreaterThanOrEqual(0.9 * figure(before, "peak")[end]);
            expect(others(tokens)).toBeGreaterThanOrEqual(0.9 * others(before));
            expect(figure(greatest, "peak")[end]).toBeGreaterThanOrEqual(figure(least, "peak")[end]);
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it("names changes that make it fit", () => {
    const workload = exactWorkload({ batchSize: 32, prompt: 40, completion: 60 });
    const options = engine({ workload, maxTokensPerMicroBatch: 8192 });
    const memory = 7e9;
    const small = { ...options, rates: { ...options.rates, memory } };
    const { fit } = planEngine(small);
    expect(fit.fits).not.toBe("yes");
    const fewer = Number(/maxTokensPerMicroBatch=(\d+)/.exec(fit.changes.join())![1]);
    expect(planEngine({ ...small, maxTokensPerMicroBatch: fewer }).fit.fits).toBe("yes");
    expect(planEngine({ ...small, maxTokensPerMicroBatch: 2 * fewer }).fit.fits).not.toBe("yes");
  });

  it("names a quantized base under an adapter if float32 does not fit", () => {
    const config = shape("Qwen2.5-0.5B");
    const bytesOf = (bits: 4 | 8) => quantizedBytes(decoderParameters(config), { config, bits });
    const lora = engine({
      size: modelSize(config, { type: "lora" }),
      adapted: modelSize(config, { type: "lora" }),
      quantizedBytesOf: bytesOf,
      workload: exactWorkload({ batchSize: 2, prompt: 200, completion: 300 }),
    });
    const within = (memory: number, changes: Partial<EngineOptions> = {}) =>
      planEngine({ ...lora, ...changes, rates: { ...lora.rates, memory } }).fit;
    expect(within(4.2e9).changes).toEqual(["a base of 8 bits: --set backend.type=onnx --set backend.quantize=8"]);
    expect(within(4.2e9, { quantizedBytes: bytesOf(8) })).toMatchObject({ fits: "yes", changes: [] });
    const full = within(3.7e9, { size: modelSize(config) }).changes;
    expect(full).toEqual([
      "an adapter and a base of 4 bits: --set model.adapter.type=lora --set backend.type=onnx --set backend.quantize=4",
    ]);
    expect(within(4.2e9, { quantizedBytesOf: undefined }).changes).toEqual([expect.stringMatching(/no other change/)]);
    expect(within(2e9).changes).toEqual([
      "a smaller model, a smaller model.adapter.rank, shorter answers (sampling.maxTokens) or a machine with more memory: no other change is enough",
    ]);
    const least = { size: modelSize(config), workload: exactWorkload({ batchSize: 1, prompt: 1, completion: 1 }) };
    expect(within(0.5e9, least).changes).toEqual([
      "a smaller model or a machine with more memory: no other change is enough",
    ]);
  });

  it("proposes settings that make any training fit, each with its own --set", () => {
    const config = shape("Qwen2.5-0.5B");
    const adapted = modelSize(config, { type: "lora" });
    const bytesOf = (bits: 4 | 8) => quantizedBytes(decoderParameters(config), { config, bits });
    const run = fc.record({
      size: fc.constantFrom(modelSize(config), adapted),
      maxTokensPerMicroBatch: fc.constantFrom(64, 100, 200, 2048),
      workload: fc.constantFrom(
        { batchSize: 2, prompt: 200, completion: 300 },
        { batchSize: 32, prompt: 40, completion: 60 },
      ),
      share: fc.double({ min: 0.05, max: 0.99, noNaN: true }),
    });
    fc.assert(
      fc.property(run, ({ share, workload, ...given }) => {
        const options = engine({ ...given, adapted, quantizedBytesOf: bytesOf, workload: exactWorkload(workload) });
        const most = figure(planEngine({ ...options, rates: { ...options.rates, memory: 1e15 } }), "peak").high;
        const rates = { ...options.rates, memory: share * most };
        for (const change of planEngine({ ...options, rates }).fit.changes) {
          if (change.endsWith("no other change is enough")) continue;
          expect(change).toMatch(/^[^:]+:( --set [\w.]+=\w+)+$/);
          const value = (key: string) => new RegExp(`${key}=(\\w+)`).exec(change)?.[1];
          const bits = value("backend.quantize");
          const tokens = Number(value("training.maxTokensPerMicroBatch") ?? given.maxTokensPerMicroBatch);
          const changed = {
            ...options,
            rates,
            maxTokensPerMicroBatch: tokens,
            size: value("model.adapter.type") === undefined ? given.size : adapted,
            quantizedBytes: bits === undefined ? undefined : bytesOf(Number(bits) as 4 | 8),
          };
          expect(planEngine(changed).fit.fits).toBe("yes");
          expect(change.includes("smaller micro-batches")).toBe(tokens < given.maxTokensPerMicroBatch);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("has no copy of the base for decoding if three of it do not fit", () => {
    const config = shape("Llama-3-8B");
    const plan = (memory: number) => {
      const options = engine({ size: modelSize(config, { type: "lora" }) });
      return planEngine({ ...options, rates: { ...options.rates, memory } });
    };
    const base = 4 * modelSize(config).parameters;
    const decoding = (memory: number) => figure(plan(memory), "decoding").high;
    expect(decoding(3 * base + 1) - decoding(3 * base - 1)).toBeGreaterThan(base);
  });

  it("plans the memory and the time of evaluations", () => {
    const demonstrated = { algorithm: { id: "sft" }, batchSize: 16, prompt: 70, completion: 10 } as const;
    const plan = (evaluatedTasks: number, evaluations: number) =>
      planEngine(engine({ workload: exactWorkload({ ...demonstrated, evaluatedTasks }), evaluations }));
    const [none, few, many] = [plan(0, 0), plan(100, 2), plan(200, 5)];
    expect(figure(none, "one evaluation")).toBeUndefined();
    for (const end of ["middle", "high"] as const) {
      expect(figure(few, "peak")[end]).toBeGreaterThan(figure(none, "peak")[end]);
      // What samplers keep has a limit.
      expect(figure(many, "peak")[end]).toBeGreaterThanOrEqual(figure(few, "peak")[end]);
      expect(figure(many, "one evaluation")[end]).toBeGreaterThan(figure(few, "one evaluation")[end]);
      const hours = (10 * figure(few, "one step")[end] + 2 * figure(few, "one evaluation")[end]) / 3600;
      expect(figure(few, "whole run")[end]).toBeCloseTo(hours);
    }
    expect(figure(few, "whole run").assumption).toBe("10 steps and 2 evaluations, without checkpoints");
  });

  it("does not count completions of last turns among what is kept", () => {
    const decoding = (turns: number, completion: number) =>
      figure(
        planEngine(engine({ workload: exactWorkload({ prompt: 10, completion, turns, batchSize: 1 }) })),
        "decoding",
      );
    const batch = (completion: number) => 1.2 * completion * cacheBytesPerToken(modelSize(shape("SmolLM2-135M")), 4);
    for (const [turns, kept] of [
      [1, 0],
      [2, 1],
    ] as const) {
      const added = decoding(turns, 130).middle - decoding(turns, 30).middle;
      expect(added).toBeCloseTo(4 * (turns * batch(100) + (kept * batch(100)) / 1.2), -3);
    }
  });

  it("is faster on a faster machine", () => {
    const options = engine();
    const { rates } = options;
    const speed = (changes: Partial<typeof rates>, name: string) =>
      figure(planEngine({ ...options, rates: { ...rates, ...changes } }), name).middle;
    const products = { flops: interval(2e11, 4e11, 6e11) };
    const reading = { bandwidth: interval(2e10, 4e10, 6e10) };
    expect(speed(products, "training") / speed({}, "training")).toBeGreaterThan(1.5);
    expect(speed(reading, "sampling") / speed({}, "sampling")).toBeGreaterThan(1.2);
    expect(speed({ operators: exactly(1e6) }, "sampling")).toBeGreaterThan(speed({}, "sampling"));
  });
});
