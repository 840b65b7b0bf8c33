import { createRequire } from "node:module";

/** Returns the version of ONNX Runtime. Returns undefined if it is not installed, because other backends do not need it. */
export function runtimeVersion(): string | undefined {
  try {
    return (createRequire(import.meta.url)("onnxruntime-node/package.json") as { version: string }).version;
  } catch {
    return undefined;
  }
}
