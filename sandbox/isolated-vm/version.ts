import { createRequire } from "node:module";

/** Returns the versions of the installed isolated-vm and of V8. */
export function isolatedVmVersion(): string {
  const { version } = createRequire(import.meta.url)("isolated-vm/package.json") as { version: string };
  return `isolated-vm ${version}, V8 ${process.versions.v8}`;
}
