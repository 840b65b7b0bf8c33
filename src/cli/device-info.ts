import { deviceFailure } from "../../trainers/backends/onnx/device.ts";
import type { Device } from "../../trainers/config/model-config.ts";

/** A value of `model.device`, tried out on this machine. */
export interface DeviceInfo {
  readonly name: string;
  readonly works: boolean;
  /** Why it does not work. */
  readonly reason?: string | undefined;
}

/** Tries a small computation on each device. `names` are devices for which the runtime has a provider. */
export async function deviceInfo(names: readonly string[]): Promise<DeviceInfo[]> {
  return await Promise.all(
    names.map(async (name) => {
      const reason = await deviceFailure(name as Exclude<Device, "auto">);
      return { name, works: reason === undefined, reason };
    }),
  );
}
