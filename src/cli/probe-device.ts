import { deviceFailure } from "../../trainers/backends/onnx/device.ts";
import type { Device } from "../../trainers/config/model-config.ts";

// A process of its own, started by device-info.ts: a driver that crashes takes nothing with it.
const failure = await deviceFailure(process.argv[2] as Exclude<Device, "auto">);
process.stdout.write(JSON.stringify(failure === undefined ? { works: true } : { works: false, reason: failure }));
