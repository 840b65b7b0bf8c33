import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { devices } from "../../../trainers/plan/devices.ts";
import { exactly, interval } from "../../../trainers/plan/interval.ts";
import { modelSize } from "../../../trainers/plan/model-size.ts";
import type { Plan } from "../../../trainers/plan/plan.ts";
import { planTorch, type TorchOptions } from "../../../trainers/plan/torch-plan.ts";
import { shapes } from "./shapes.ts";
import { exactWorkload } from "./workloads.ts";

const figure = ({ memory, speed }: Plan, name: string) => [...memory, ...speed].find((one) => one.name === name)!;
const sizeOf = (name: keyof typeof shapes, part?: Parameters<typeof modelSize>[1]) =>
  modelSize(readDecoderConfig(shapes[name].config), part);
const lora = { type: "lora", rank: 16 } as const;
const rates = { flops: interval(1e11, 2e11, 3e11), bandwidth: interval(1e10, 2e10, 3e10), operators: exactly(5e5) };
const machine = { machine: { ...rates, threads: 2, memory: 16e9 } };

function options(changes: Partial<TorchOptions> = {}): TorchOptions {
  return {
    ...{ size: sizeOf("Llama-3-8B"), adapted: sizeOf("Llama-3-8B", lora), steps: 10, price: 2 },
    ...{ workload: exactWorkload({ batchSize: 32, prompt: 200, completion: 300 }), precision: "bfloat16" },
    ...{ recompute: false, maxTokensPerMicroBatch: 16_384, decodeBatchSize: 256, strategy: "ddp" },
    ...{ processes: 1, nodes: 1, hardware: { card: devices.get("h100") }, ...changes },
  };
}
const plan = (changes: Partial<TorchOptions> = {}): Plan => planTorch(options(changes));

describe("a plan for PyTorch", () => {
  it("has figures in order, for any lengths and settings", () => {
    const settings = fc.record({
      precision: fc.constantFrom("float32", "bfloat16"),
      recompute: fc.boolean(),
      strategy: fc.constantFrom("ddp", "fsdp"),
      processes: fc.integer({ min: 1, max: 16 }),
      nodes: fc.integer({ min: 1, max: 4 }),
      maxTokensPerMicroBatch: fc.integer({ min: 1, max: 40_000 }),
      decodeBatchSize: fc.integer({ min: 1, max: 512 }),
      size: fc.constantFrom(sizeOf("Llama-3-8B"), sizeOf("SmolLM2-135M", lora), sizeOf("GPT-2")),
      hardware: fc.constantFrom(machine, { card: devices.get("t4") }, { card: devices.get("b200") }),
    });
    const lengths = fc.record({
      prompt: fc.integer({ min: 1, max: 3000 }),
      completion: fc.integer({ min: 1, max: 3000 }),
      batchSize: fc.integer({ min: 1, max: 64 }),
    });
    fc.assert(
      fc.property(settings, lengths, (changes, length) => {
        const { memory, speed } = plan({ ...(changes as Partial<TorchOptions>), workload: exactWorkload(length) });
        for (const { low, middle, high, name } of [...memory, ...speed]) {
          expect([name, low <= middle, middle <= high, Number.isFinite(high)]).toEqual([name, true, true, true]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("counts trained numbers in float32 and frozen ones in the precision", () => {
    const { parameters } = sizeOf("Llama-3-8B");
    const full = plan();
    expect(figure(full, "weights").middle).toBe(4 * parameters);
    expect(figure(full, "optimizer").middle).toBe(8 * parameters);
    const { adapter } = sizeOf("Llama-3-8B", lora);
    for (const [precision, bytes] of [
      ["bfloat16", 2],
      ["float32", 4],
    ] as const) {
      const adapted = plan({ size: sizeOf("Llama-3-8B", lora), precision });
      expect(figure(adapted, "weights").middle).toBe(bytes * parameters + 4 * adapter);
      expect(figure(adapted, "optimizer").middle).toBe(8 * adapter);
    }
  });

  it("divides only the layers, and only with fsdp", () => {
    const { parameters, blockWeights } = sizeOf("Llama-3-8B");
    const of = (strategy: "ddp" | "fsdp", processes: number, nodes = 1) =>
      figure(plan({ strategy, processes, nodes }), "weights").middle;
    expect(of("ddp", 8, 2)).toBe(4 * parameters);
    expect(of("fsdp", 1)).toBe(4 * parameters);
    expect(of("fsdp", 8, 2)).toBeCloseTo(4 * (parameters - blockWeights + blockWeights / 16), -3);
  });

  it("needs less memory with recomputation and fewer tokens at a time, and less time on more cards", () => {
    const activations = (changes: Partial<TorchOptions>) => figure(plan(changes), "activations").middle;
    expect(activations({ recompute: true })).toBeLessThan(activations({}) / 4);
    expect(activations({ maxTokensPerMicroBatch: 2000 })).toBeLessThan(activations({}) / 7);
    const seconds = (changes: Partial<TorchOptions>) => figure(plan(changes), "one step").middle;
    expect(seconds({ recompute: true })).toBeGreaterThan(seconds({}));
    expect(seconds({ processes: 4 })).toBeLessThan(seconds({}));
    expect(seconds({ processes: 4, strategy: "fsdp" })).toBeGreaterThan(seconds({ processes: 4 }));
  });

  it("keeps at most 2^26 logits at a time", () => {
    const logits = (prompt: number, completion: number) =>
      figure(plan({ workload: exactWorkload({ batchSize: 64, prompt, completion }) }), "logits").low;
    expect(logits(100, 1900)).toBe(2 * 4 * 2 ** 26);
    expect(logits(1999, 1)).toBeLessThan(2 ** 26);
  });

  it("proposes changes that make it fit", () => {
    const large = { recompute: true, maxTokensPerMicroBatch: 2048, hardware: { card: devices.get("h200") } } as const;
    const { fit } = plan(large);
    expect(fit).toMatchObject({ fits: "no", available: 141e9 });
    expect(plan({ ...large, processes: 8, strategy: "fsdp" }).fit.fits).toBe("yes");
    expect(fit.changes).toEqual([
      "an adapter: --set model.adapter.type=lora",
      expect.stringMatching(
        /^layers divided over [48] cards: --set backend\.processes=[48] --set backend\.strategy=fsdp$/,
      ),
    ]);
    const small = { hardware: { card: devices.get("t4") }, precision: "float32" } as const;
    expect(plan(small).fit.changes).toEqual([expect.stringMatching(/^a smaller model/)]);
    expect(plan({ size: sizeOf("SmolLM2-135M", lora) }).fit).toEqual({ fits: "yes", available: 80e9, changes: [] });
  });

  it("shares the memory of a machine among its processes, and says what is measured", () => {
    const changes = { size: sizeOf("SmolLM2-135M", lora), precision: "float32", hardware: machine } as const;
    const two = plan({ ...changes, processes: 2 });
    expect(two).toMatchObject({ basis: "measured", fit: { available: 8e9 } });
    expect(two.hardware).toBe("this machine's processor, PyTorch in 2 processes");
    expect(plan({ processes: 4, nodes: 2 })).toMatchObject({
      ...{ basis: "not tested", hardware: "8 x NVIDIA H100 SXM 80 GB on 2 machines, PyTorch" },
    });
  });
});
