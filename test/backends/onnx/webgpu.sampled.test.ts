import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { DeviceTrial } from "../../../trainers/backends/onnx/device.ts";
import { isSlowTier } from "../../tier.ts";
import { type TrainingRun, trainOn } from "./device-run.ts";

/**
 * The software Vulkan driver of Debian's chromium package, with its loader in the same folder: a GPU path that runs on
 * any machine. If it is absent, the test uses the machine's own adapter.
 */
const softwareDriver = "/usr/lib/chromium/vk_swiftshader_icd.json";
const environment = existsSync(softwareDriver)
  ? { ...process.env, VK_DRIVER_FILES: softwareDriver, LD_LIBRARY_PATH: path.dirname(softwareDriver) }
  : process.env;
const engine = path.join(import.meta.dirname, "../../../trainers/backends/onnx");

function run(program: string, env: NodeJS.ProcessEnv): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [program, "webgpu"], { env, timeout: 300_000 });
}

const slow: DeviceTrial = { failure: "it takes minutes on a software driver, so the slow tier runs it" };
const trial = !isSlowTier
  ? slow
  : await run(path.join(engine, "device-trial.ts"), environment).then(
      ({ stdout }) => JSON.parse(stdout) as DeviceTrial,
      (error: Error): DeviceTrial => ({ failure: error.message }),
    );
const reason = trial.failure === undefined ? "" : ` (skipped: ${trial.failure})`;

describe.skipIf(trial.failure !== undefined)(`on webgpu${reason}`, () => {
  it("training, sampling and every operator match the cpu, and nothing is printed", async () => {
    const { stdout, stderr } = await run(path.join(import.meta.dirname, "device-run-process.ts"), environment);
    expect(stderr).toBe("");
    const found = JSON.parse(stdout) as { runs: Record<string, TrainingRun>; operators: Record<string, number> };
    for (const [kind, expected] of Object.entries(await trainOn("cpu"))) {
      const actual = found.runs[kind]!;
      const close = (a: readonly number[], b: readonly number[]): void => {
        expect(a).toHaveLength(b.length);
        for (const [i, value] of a.entries()) {
          expect(Math.abs(value - b[i]!) / Math.max(1, Math.abs(b[i]!)), `${kind}, ${i}`).toBeLessThan(1e-3);
        }
      };
      close(actual.losses, expected.losses);
      close(actual.gradientNorms, expected.gradientNorms);
      close(actual.logprobs, expected.logprobs);
      close(actual.values, expected.values);
      expect(expected.values.some((value) => Math.abs(value) > 0.01)).toBe(true);
      expect(actual.ids).toEqual(expected.ids);
      expect(expected.sampledApart).toBeLessThan(1e-4);
      expect(actual.sampledApart).toBeLessThan(1e-3);
    }
    for (const [operator, distance] of Object.entries(found.operators)) {
      expect(distance, operator).toBeLessThan(1e-4);
    }
  });
});

describe.skipIf(process.platform !== "linux")("a machine without an adapter (hidden by Vulkan's variables)", () => {
  it("refuses the device with a typed error, and prints nothing else", async () => {
    const script = `
      const { createOnnxBackend } = await import(${JSON.stringify(path.join(engine, "index.ts"))});
      await createOnnxBackend({ device: "webgpu" }).catch(({ code, hint }) => console.log(code, hint.length > 0));`;
    const hidden = { ...process.env, VK_DRIVER_FILES: "/nowhere", VK_ICD_FILENAMES: "/nowhere" };
    const loaders = [hidden, { ...hidden, LD_LIBRARY_PATH: path.dirname(softwareDriver) }];
    for (const env of loaders) {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
        env,
      });
      expect(stdout).toBe("backend.unsupported true\n");
      expect(stderr).toBe("");
    }
  });
});
