import { join } from "node:path";
import { contentHash } from "../../src/core/taskset/content-hash.ts";

/** Returns the folder with the starting models of a run that starts from another run's checkpoint. */
export function startFolder(run: string, checkpoint: string): string {
  return join(run, "start", contentHash(checkpoint).slice(0, 12));
}
