import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { DeviceTrial } from "../../../trainers/backends/onnx/device.ts";
import { LossScale } from "../../../trainers/backends/onnx/engine/loss-scale.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { decoderConfigs } from "./decoder-configs.ts";
import { type ScaledLoss, scaleLosses, type TrainingRun, trainOn } from "./device-run.ts";
import { ModelUnderTest, randomData, withOtherPolicies } from "./model-under-test.ts";

describe("the loss scale", () => {
  it("halves after an overflow, and doubles after many clean runs, up to a bound", () => {
    const scale = new LossScale({ scale: 1024, cleanRuns: 0 });
    scale.shrink();
    expect(scale.state).toEqual({ scale: 512, cleanRuns: 0 });
    for (let run = 1; run < 2000; run++) scale.grow();
    expect(scale.state).toEqual({ scale: 512, cleanRuns: 1999 });
    scale.grow();
    expect(scale.state).toEqual({ scale: 1024, cleanRuns: 0 });
    scale.restore({ scale: 2 ** 24, cleanRuns: 1999 });
    scale.grow();
    expect(scale.state).toEqual({ scale: 2 ** 24, cleanRuns: 0 });
  });

  it("counts clean runs from 0 after an overflow, and gives up far below 1", () => {
    const scale = new LossScale({ scale: 2 ** -23, cleanRuns: 7 });
    scale.shrink();
    expect(scale.state).toEqual({ scale: 2 ** -24, cleanRuns: 0 });
    expect(() => scale.shrink()).toThrow(expect.objectContaining({ code: "backend.not-finite" }));
  });
});

/** The CPU computes float16 products in float32, so this only tests that scaling does not change the result. */
describe("a graph for float16, on the cpu", () => {
  const config = decoderConfigs["llama, tied, grouped queries"]!;
  const terms: LossTerm[] = [
    { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
    { type: "entropy", weight: 0.1 },
    { type: "value", weight: 0.3 },
  ];

  it.each([
    { start: 2 ** 10, overflows: false },
    { start: 2 ** 127, overflows: true },
  ])("gives the gradient of float32, from a scale of $start", async ({ start, overflows }) => {
    for (const lora of [undefined, { rank: 2, alpha: 4 }]) {
      await using plain = new ModelUnderTest(config, lora);
      const lossScale = new LossScale({ scale: start, cleanRuns: 0 });
      await using scaled = new ModelUnderTest(config, lora, lossScale);
      const data = await withOtherPolicies(plain, randomData([7, 3], { vocabulary: 29, seed: 5 }));
      const [expected, found] = [await plain.pass(data, terms), await scaled.pass(data, terms)];
      expect(found.overflows > 0).toBe(overflows);
      expect(lossScale.state.scale < start).toBe(overflows);
      for (const [i, value] of expected.gradient.data.entries()) {
        expect(Math.abs(found.gradient.data[i]! - value)).toBeLessThan(1e-4);
      }
      for (const [i, value] of expected.terms.entries()) expect(found.terms[i]).toBeCloseTo(value, 4);
    }
  });
});

describe("float16 on an unsupported device", () => {
  it.each(["cpu", "coreml", "dml"] as const)("%s is refused by a typed error", async (device) => {
    await expect(createOnnxBackend({ device, precision: "float16" })).rejects.toMatchObject({
      code: "backend.unsupported",
      message: expect.stringMatching(/float16/),
      hint: expect.stringMatching(/webgpu, cuda/),
    });
  });
});

/**
 * Mesa's software Vulkan driver supports float16 from version 24. Chromium's does not. `VK_DRIVER_FILES` sets another
 * driver.
 */
const mesaDriver = "/usr/share/vulkan/icd.d/lvp_icd.json";
const named = process.env.VK_DRIVER_FILES !== undefined || !existsSync(mesaDriver);
const environment = named ? process.env : { ...process.env, VK_DRIVER_FILES: mesaDriver };
const engine = path.join(import.meta.dirname, "../../../trainers/backends/onnx");

function run(program: string, args: readonly string[]): Promise<{ stdout: string }> {
  return promisify(execFile)(process.execPath, [program, ...args], { env: environment, timeout: 300_000 });
}

const trial = await run(path.join(engine, "device-trial.ts"), ["webgpu", "float16"]).then(
  ({ stdout }) => JSON.parse(stdout) as DeviceTrial,
  (error: Error): DeviceTrial => ({ failure: error.message }),
);
const reason = trial.failure === undefined ? "" : ` (skipped, no adapter has it: ${trial.failure.slice(0, 120)})`;

describe.skipIf(trial.failure !== undefined)(`float16 on webgpu${reason}`, () => {
  it("trains like float32 except for rounding, and loses neither small nor large gradients", async () => {
    const weights = [1e-6, 1e-2, 1e6];
    const { stdout } = await run(path.join(import.meta.dirname, "half-precision-process.ts"), [
      "webgpu",
      ...weights.map(String),
    ]);
    const found = JSON.parse(stdout) as { runs: Record<string, TrainingRun>; scaled: ScaledLoss[] };
    const exact = await scaleLosses({ device: "cpu", precision: "float32", weights: [1] });
    for (const { norm } of found.scaled) expect(norm / exact[0]!.norm).toBeCloseTo(1, 1);
    expect(found.scaled.map(({ overflows }) => overflows > 0)).toEqual([false, false, true]);
    for (const [kind, expected] of Object.entries(await trainOn("cpu"))) {
      const actual = found.runs[kind]!;
      const apart = (a: readonly number[], b: readonly number[]): number =>
        Math.max(...a.map((value, i) => Math.abs(value - b[i]!) / Math.max(1, Math.abs(b[i]!))));
      expect(apart(actual.losses, expected.losses)).toBeLessThan(0.02);
      expect(apart(actual.gradientNorms, expected.gradientNorms)).toBeLessThan(0.05);
      expect(apart(actual.logprobs, expected.logprobs)).toBeLessThan(0.03);
      // Proves that it did not run in float32.
      expect(apart(actual.losses, expected.losses)).toBeGreaterThan(1e-6);
      expect(actual.sampledApart).toBeLessThan(0.03);
    }
  });
});
