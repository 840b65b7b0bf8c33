import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { type Device, indexedDevices } from "./engine/session.ts";
import type { Precision } from "./graph/graph.ts";

const trialMilliseconds = 60_000;

/** The requirements for a device. */
interface DeviceDemand {
  /** Default: float32. */
  readonly precision?: Precision;
  readonly deviceIndex?: number;
}

/**
 * Chooses the device to run on. A named device is tried with one small matrix product. `auto` chooses cuda if it works,
 * and cpu otherwise. It never chooses other accelerators: they are slower than a CPU for the small models that this
 * engine trains. Throws `backend.unsupported` if the device does not work, if it does not support float16, or if there
 * is no device with this index.
 */
export async function chooseDevice(wanted: Device | "auto", demand: DeviceDemand = {}): Promise<Device> {
  const { precision = "float32", deviceIndex } = demand;
  if (wanted === "auto") {
    // With `auto`, an index can only mean a cuda device.
    if (deviceIndex !== undefined) return chooseDevice("cuda", demand);
    const works = mayHaveCuda() && (await deviceFailure("cuda", demand)) === undefined;
    return chooseDevice(works ? "cuda" : "cpu", demand);
  }
  if (deviceIndex !== undefined && !indexedDevices.includes(wanted)) throw noIndex(wanted, deviceIndex);
  if (precision === "float16" && !halfPrecisionDevices.includes(wanted)) throw noHalfPrecision(wanted);
  if (wanted === "cpu") return wanted;
  const failure = await deviceFailure(wanted, demand);
  if (failure === undefined) return wanted;
  const index = deviceIndex === undefined ? "" : ` of index ${deviceIndex}`;
  const inHalf = precision === "float16" ? " in float16" : "";
  const counted = deviceIndex === undefined ? "" : " Indices count from 0: one GPU has the index 0.";
  throw new LyceumError({
    code: "backend.unsupported",
    message: `The device "${wanted}"${index} does not work here${inHalf}: ${failure}`,
    hint: `\`lyceum info\` lists the devices that work; model.device: auto chooses one.${counted}`,
    data: { device: wanted, precision, ...(deviceIndex === undefined ? {} : { deviceIndex }) },
  });
}

/** False if this machine certainly has no CUDA device. This saves the trial, which takes half a second. */
function mayHaveCuda(): boolean {
  if (process.platform === "linux") return ["/dev/nvidiactl", "/dev/dxg"].some((path) => existsSync(path));
  return process.platform !== "darwin";
}

function noIndex(device: Device, deviceIndex: number): LyceumError {
  return new LyceumError({
    code: "backend.unsupported",
    message: `The device "${device}" cannot have the index ${deviceIndex}: only ${indexedDevices.join(" and ")} devices have an index.`,
    hint: "Leave model.deviceIndex out, or set model.device to cuda or dml.",
    data: { device, deviceIndex },
  });
}

/** The devices on which ONNX Runtime computes products in float16. */
const halfPrecisionDevices: readonly Device[] = ["webgpu", "cuda"];

function noHalfPrecision(device: Device): LyceumError {
  const why =
    device === "cpu"
      ? "ONNX Runtime's CPU provider has no products in float16 and would compute them in float32"
      : "the engine does not support float16 on it";
  return new LyceumError({
    code: "backend.unsupported",
    message: `The device "${device}" cannot train in float16: ${why}.`,
    hint: `Set model.precision to float32, or model.device to one of: ${halfPrecisionDevices.join(", ")}.`,
    data: { device, precision: "float16" },
  });
}

/** The output of a trial. */
export interface DeviceTrial {
  readonly failure?: string | undefined;
}

/**
 * Returns why a device does not work here, or undefined if it works. The trial runs in its own process, because a
 * driver may crash, hang, or write to the terminal.
 */
export async function deviceFailure(
  device: Device,
  { precision = "float32", deviceIndex }: DeviceDemand = {},
): Promise<string | undefined> {
  const program = fileURLToPath(new URL(`./device-trial${path.extname(import.meta.url)}`, import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, device, precision, String(deviceIndex ?? "")],
      {
        timeout: trialMilliseconds,
      },
    );
    return (JSON.parse(stdout) as DeviceTrial).failure;
  } catch (error) {
    const { killed, signal, code } = error as { killed?: boolean; signal?: string | null; code?: unknown };
    if (killed === true) return `A trial did not finish within ${trialMilliseconds / 1000} s.`;
    return `A trial ended with ${signal ?? `code ${String(code)}`}.`;
  }
}
