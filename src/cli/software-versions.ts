import { createRequire } from "node:module";
import { packageVersion } from "./package-version.ts";

/** Versions that a run records, as far as they are known. */
export function softwareVersions(): Record<string, string> {
  const { version: runtime } = createRequire(import.meta.url)("onnxruntime-node/package.json") as { version: string };
  return {
    lyceum: packageVersion(),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    "onnxruntime-node": runtime,
  };
}
