import { stat } from "node:fs/promises";

/** A run whose files did not change for longer than this is taken to have stopped. */
const recentMs = 5 * 60_000;

/** When the newest of some files changed, in milliseconds since 1970; 0 where there is none. */
export async function changedMs(paths: readonly string[]): Promise<number> {
  const times = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(...times);
}

/** Whether a run that changed then, and has not ended, may be going on. */
export function isRecent(changed: number): boolean {
  return Date.now() - changed < recentMs;
}
