import { createRequire } from "node:module";
import { packageVersion } from "./package-version.ts";

/** Versions that a run records, as far as they are known. */
export function softwareVersions(): Record<string, string> {
  const runtime = runtimeVersion();
  return {
    lyceum: packageVersion(),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    ...(runtime === undefined ? {} : { "onnxruntime-node": runtime }),
  };
}

/** Undefined if it is not installed: who asks a server needs none. */
function runtimeVersion(): string | undefined {
  try {
    return (createRequire(import.meta.url)("onnxruntime-node/package.json") as { version: string }).version;
  } catch {
    return undefined;
  }
}
