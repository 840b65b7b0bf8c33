import { runtimeVersion } from "../trainers/backends/onnx/runtime-version.ts";
import { packageVersion } from "./package-version.ts";

/** Returns the versions of Lyceum, Node and the runtime that a run records. Unknown ones are absent. */
export function softwareVersions(): Record<string, string> {
  const runtime = runtimeVersion();
  return {
    lyceum: packageVersion(),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    ...(runtime === undefined ? {} : { "onnxruntime-node": runtime }),
  };
}
