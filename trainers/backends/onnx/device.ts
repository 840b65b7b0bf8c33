import { LyceumError } from "../../../src/errors/index.ts";
import { type Device, GraphSession } from "./engine/session.ts";
import { Graph } from "./graph/graph.ts";
import { matrixProduct } from "./graph/linear.ts";

const size = 256;

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

/** Why a device does not work, or undefined where it does. */
export async function deviceFailure(device: Device): Promise<string | undefined> {
  const { env, listSupportedBackends } = await import("onnxruntime-node");
  // What a trial runs into is thrown; the runtime's own log would show it as an error of the process.
  env.logLevel = "fatal";
  const bundled = listSupportedBackends().map(({ name }) => name);
  if (!bundled.includes(device)) return `onnxruntime-node has no ${device} provider on this platform.`;
  try {
    const graph = new Graph();
    const x = graph.input("x", "float32", [size, size]);
    graph.output("y", matrixProduct(x, x));
    await using session = await GraphSession.create(graph, { device, threads: 1 });
    const { y } = await session.run({ x: { data: new Float32Array(size * size).fill(1), shape: [size, size] } });
    return y![0] === size ? undefined : `It computed ${y![0]} where ${size} is right.`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
