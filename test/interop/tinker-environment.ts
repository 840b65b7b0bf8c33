import type { WantedEnvironment } from "./python-environment.ts";

/** The Python environment of a version of the official Tinker SDK. */
export function tinkerEnvironment(version: string): WantedEnvironment {
  return { name: `tinker-${version}`, requirements: `tinker-${version}-requirements.txt`, download: "60 MB" };
}
