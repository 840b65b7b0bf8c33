import type { DeviceTrial } from "./device.ts";
import { importRuntime } from "./engine/import-runtime.ts";
import { type Device, GraphSession, type SessionSettings } from "./engine/session.ts";
import { Graph, type Precision } from "./graph/graph.ts";
import { matrixProduct } from "./graph/linear.ts";

// A separate program that device.ts starts. It tries the device in its arguments, with the precision (default float32)
// and the index (default: the first device) that follow, and prints a DeviceTrial.
const size = 256;
const [, , device, precision = "float32", index = ""] = process.argv;
const place = index === "" ? {} : { deviceIndex: Number(index) };
const failure = await tryDevice({ device: device as Device, ...place }, precision as Precision);
process.stdout.write(JSON.stringify({ failure } satisfies DeviceTrial));

/** Runs one small matrix product on a device. Returns why it failed, or undefined if it works. */
async function tryDevice(
  place: Pick<SessionSettings, "device" | "deviceIndex">,
  precision: Precision,
): Promise<string | undefined> {
  const { device } = place;
  const { env, listSupportedBackends } = await importRuntime();
  // Failures are thrown. The runtime's own log would only print them as an error of this process.
  env.logLevel = "fatal";
  const bundled = listSupportedBackends().map(({ name }) => name);
  if (!bundled.includes(device)) return `onnxruntime-node has no ${device} provider on this platform.`;
  try {
    const graph = new Graph({ precision });
    const x = graph.input("x", "float32", [size, size]);
    graph.output("y", matrixProduct(x, x));
    await using session = await GraphSession.create(graph, { ...place, threads: 1 });
    const { y } = await session.run({ x: { data: new Float32Array(size * size).fill(1), shape: [size, size] } });
    return y![0] === size ? undefined : `It computed ${y![0]}, but ${size} is correct.`;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Returns the runtime's own message without the source location that some messages begin with. */
function reasonOf(error: unknown): string {
  const root = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = root instanceof Error ? root.message : String(root);
  return message.replace(/^.* was false\. /s, "").trim();
}
