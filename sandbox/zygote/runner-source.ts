import { readdir, readFile } from "node:fs/promises";
import { frame } from "../pool/frames.ts";

/** Where the runner's modules lie: those of every Python sandbox, and its own. */
const folders = ["../python/", "runner/"];

/** What a runner is told at its start. */
export interface RunnerSettings {
  /** The user that candidates run as; judges run as the next one. */
  readonly uid: number;
  /** Packages that are imported before any job, where they are installed. */
  readonly packages: readonly string[];
}

/**
 * The command that starts a runner in any environment with Python 3.9 or newer. It reads its program from its input, so
 * that an image needs nothing of ours.
 */
export async function runnerCommand(): Promise<string[]> {
  return ["python3", "-s", "-B", "-X", "utf8", "-c", await source("runner/bootstrap.py")];
}

/** The runner's environment: nothing of the host's, and the same hashes in every run. */
export const runnerEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  TMPDIR: "/tmp",
  LANG: "C.UTF-8",
  PYTHONHASHSEED: "0",
  OPENBLAS_NUM_THREADS: "1",
  OMP_NUM_THREADS: "1",
  // Else each child would look up anew what it is the first to call.
  LD_BIND_NOW: "1",
};

/** The first frame that a runner reads: its program and settings. */
export async function runnerBundle(settings: RunnerSettings): Promise<Buffer> {
  const modules: Record<string, string> = {};
  for (const folder of folders) {
    for (const file of await readdir(new URL(folder, import.meta.url))) {
      if (file.endsWith(".py")) modules[`lyceum_runner.${file.slice(0, -".py".length)}`] = await source(folder + file);
    }
  }
  return frame({ modules, settings });
}

function source(path: string): Promise<string> {
  return readFile(new URL(path, import.meta.url), "utf8");
}
