import type { DeviceTrial } from "./device.ts";
import { importRuntime } from "./engine/import-runtime.ts";
import { type Device, GraphSession, type SessionSettings } from "./engine/session.ts";
import { Graph, type Precision } from "./graph/graph.ts";
import { matrixProduct } from "./graph/linear.ts";

// A program of its own, started by device.ts: tries the device named on the command line, in the precision and of the
// index named there (float32 and the first by default), and prints a DeviceTrial.
const size = 256;
const [, , device, precision = "float32", index = ""] = process.argv;
const place = index === "" ? {} : { deviceIndex: Number(index) };
const failure = await tryDevice({ device: device as Device, ...place }, precision as Precision);
process.stdout.write(JSON.stringify({ failure } satisfies DeviceTrial));

/** Runs one small matrix product on a device: why that does not work, or undefined where it does. */
async function tryDevice(
  place: Pick<SessionSettings, "device" | "deviceIndex">,
  precision: Precision,
): Promise<string | undefined> {
  const { device } = place;
  const { env, listSupportedBackends } = await importRuntime();
  // What a trial runs into is thrown; the runtime's own log would show it as an error of the process.
  env.logLevel = "fatal";
  const bundled = listSupportedBackends().map(({ name }) => name);
  if (!bundled.includes(device)) return `onnxruntime-node has no ${device} provider on this platform.`;
  try {
    const graph = new Graph({ precision });
    const x = graph.input("x", "float32", [size, size]);
    graph.output("y", matrixProduct(x, x));
    await using session = await GraphSession.create(graph, { ...place, threads: 1 });
    const { y } = await session.run({ x: { data: new Float32Array(size * size).fill(1), shape: [size, size] } });
    return y![0] === size ? undefined : `It computed ${y![0]} where ${size} is right.`;
  } catch (error) {
    return reasonOf(error);
  }
}

/** The runtime's own words, without the place in its source that some begin with. */
function reasonOf(error: unknown): string {
  const root = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = root instanceof Error ? root.message : String(root);
  return message.replace(/^.* was false\. /s, "").trim();
}
