import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * One arena, and freed memory is returned immediately. Memory that the C library caches would look like a leak. Other
 * libraries than glibc ignore these settings.
 */
const frugalAllocator = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "65536",
  MALLOC_TRIM_THRESHOLD_: "65536",
};

/** How long a program may run after its last line. A leaked handle would keep it running. */
const endingMs = 20_000;

/**
 * Runs a program of this folder with `gc()` available, and returns the lines of JSON that it printed. Throws if it
 * fails, writes to stderr, or does not end by itself after the line that has `lastKey`.
 */
export async function runSoak(
  program: string,
  options: { readonly arguments: readonly string[]; readonly lastKey: string },
): Promise<Record<string, unknown>[]> {
  const child = spawn(process.execPath, ["--expose-gc", join(import.meta.dirname, program), ...options.arguments], {
    env: { ...process.env, ...frugalAllocator },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  let deadline: NodeJS.Timeout | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (stdout.includes(`{"${options.lastKey}":`)) deadline ??= setTimeout(() => child.kill("SIGKILL"), endingMs);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await exitCode(child);
  clearTimeout(deadline);
  if (code === 0 && stderr === "")
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const why = deadline === undefined ? `ended with ${code}` : "printed its last line and did not end";
  throw new Error(`${program} ${why}.\n${stdout.slice(-2_000)}\n${stderr}`);
}

function exitCode(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  return values.toSorted((first, second) => first - second)[values.length >> 1]!;
}
