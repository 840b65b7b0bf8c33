import type { Device } from "../../../trainers/backends/onnx/index.ts";
import { scaleLosses, trainOn } from "./device-run.ts";

/** A program for tests. Prints the results of float16 training on the device in its arguments, as JSON. */
const device = process.argv[2] as Device;
const weights = process.argv.slice(3).map(Number);
const precision = "float16";
const scaled = await scaleLosses({ device, precision, weights });
console.log(JSON.stringify({ runs: await trainOn(device, precision), scaled }));
