import { deviceFailure } from "../trainers/backends/onnx/device.ts";
import type { Device } from "../trainers/config/model-config.ts";

/** A value of `model.device`, and whether it works on this machine. */
export interface DeviceInfo {
  readonly name: string;
  readonly works: boolean;
  /** Why it does not work. */
  readonly reason?: string | undefined;
}

/** Runs a small computation on each device. `names` are the devices that the runtime has a provider for. */
export async function deviceInfo(names: readonly string[]): Promise<DeviceInfo[]> {
  return await Promise.all(
    names.map(async (name) => {
      const reason = await deviceFailure(name as Exclude<Device, "auto">);
      return { name, works: reason === undefined, reason };
    }),
  );
}
