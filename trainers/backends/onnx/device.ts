import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LyceumError } from "../../../src/errors/index.ts";
import type { Device } from "./engine/session.ts";

const trialMilliseconds = 60_000;

/**
 * The device to run on. A named device is tried with one small matrix product; `auto` takes cuda where it works, and
 * otherwise cpu: other accelerators are slower than a processor for the small models that are trained in a process,
 * so they are taken only by name.
 */
export async function chooseDevice(wanted: Device | "auto"): Promise<Device> {
  if (wanted === "cpu") return wanted;
  if (wanted === "auto") return (await deviceFailure("cuda")) === undefined ? "cuda" : "cpu";
  const failure = await deviceFailure(wanted);
  if (failure === undefined) return wanted;
  throw new LyceumError({
    code: "backend.unsupported",
    message: `The device "${wanted}" does not work here: ${failure}`,
    hint: "`lyceum info` lists the devices that work; model.device: auto chooses one.",
    data: { device: wanted },
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
export async function deviceFailure(device: Device): Promise<string | undefined> {
  const program = fileURLToPath(new URL(`./device-trial${path.extname(import.meta.url)}`, import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, device], { timeout: trialMilliseconds });
    return (JSON.parse(stdout) as DeviceTrial).failure;
  } catch (error) {
    const { killed, signal, code } = error as { killed?: boolean; signal?: string | null; code?: unknown };
    if (killed === true) return `A trial of it gave no answer within ${trialMilliseconds / 1000} s.`;
    return `A trial of it ended by ${signal ?? `code ${String(code)}`}.`;
  }
}
