import { createRequire } from "node:module";

/** Returns the version of this package. */
export function packageVersion(): string {
  const manifest = createRequire(import.meta.url)("lyceum/package.json") as { version: string };
  return manifest.version;
}
