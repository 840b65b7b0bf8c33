import { createRequire } from "node:module";
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

/**
 * Returns the version of the runtime. Returns undefined if it is not installed, because server policies do not need it.
 */
function runtimeVersion(): string | undefined {
  try {
    return (createRequire(import.meta.url)("onnxruntime-node/package.json") as { version: string }).version;
  } catch {
    return undefined;
  }
}
