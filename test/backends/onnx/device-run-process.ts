import type { Device } from "../../../trainers/backends/onnx/index.ts";
import { compareOperators, trainOn } from "./device-run.ts";

/** A program for tests. Prints the results of `device-run.ts` on the device in its arguments, as JSON. */
const device = process.argv[2] as Device;
console.log(JSON.stringify({ runs: await trainOn(device), operators: await compareOperators(device) }));
