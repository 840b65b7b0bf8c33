import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { type Device, indexedDevices } from "./engine/session.ts";
import type { Precision } from "./graph/graph.ts";

const trialMilliseconds = 60_000;

/** What is asked of a device. */
interface DeviceDemand {
  /** float32 by default. */
  readonly precision?: Precision;
  readonly deviceIndex?: number;
}

/**
 * The device to run on. A named device is tried with one small matrix product; `auto` takes cuda where it works, and
 * otherwise cpu: other accelerators are slower than a processor for the small models that are trained in a process,
 * so they are taken only by name. Throws `backend.unsupported` if the device does not work, or not in float16, or if
 * there is none of that index.
 */
export async function chooseDevice(wanted: Device | "auto", demand: DeviceDemand = {}): Promise<Device> {
  const { precision = "float32", deviceIndex } = demand;
  if (wanted === "auto") {
    // Only cuda can be meant by an index.
    if (deviceIndex !== undefined) return chooseDevice("cuda", demand);
    const device = (await deviceFailure("cuda", demand)) === undefined ? "cuda" : "cpu";
    return chooseDevice(device, demand);
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

function noIndex(device: Device, deviceIndex: number): LyceumError {
  return new LyceumError({
    code: "backend.unsupported",
    message: `The device "${device}" has no index ${deviceIndex}: one of several can be named on ${indexedDevices.join(" and ")} only.`,
    hint: "Leave model.deviceIndex out, or set model.device to cuda or dml.",
    data: { device, deviceIndex },
  });
}

/** Where ONNX Runtime computes products in float16. */
const halfPrecisionDevices: readonly Device[] = ["webgpu", "cuda"];

function noHalfPrecision(device: Device): LyceumError {
  const why =
    device === "cpu"
      ? "ONNX Runtime's CPU provider has no products in float16 and would compute them in float32"
      : "the engine's float16 has not been built for it";
  return new LyceumError({
    code: "backend.unsupported",
    message: `The device "${device}" cannot train in float16: ${why}.`,
    hint: `Set model.precision to float32, or model.device to one of: ${halfPrecisionDevices.join(", ")}.`,
    data: { device, precision: "float16" },
  });
}

/** What a trial prints. */
export interface DeviceTrial {
  readonly failure?: string | undefined;
}

/**
 * Why a device does not work here, or undefined where it does. The trial runs in a process of its own: a driver may
 * crash, hang, or write to the terminal.
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
    if (killed === true) return `A trial of it gave no answer within ${trialMilliseconds / 1000} s.`;
    return `A trial of it ended by ${signal ?? `code ${String(code)}`}.`;
  }
}
