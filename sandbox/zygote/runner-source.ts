import { readdir, readFile } from "node:fs/promises";
import { frame } from "../pool/frames.ts";

/** The folders of the runner's modules: those of every Python sandbox, and its own. */
const folders = ["../python/", "runner/"];

/** The settings that a runner receives at its start. */
export interface RunnerSettings {
  /** The user id of candidates. Judges run as the next user id. */
  readonly uid: number;
  /** Packages that are imported before any job, if they are installed. */
  readonly packages: readonly string[];
}

/**
 * Returns the command that starts a runner. It needs Python 3.9 or newer. The runner reads its program from standard
 * input, so an image needs no files of Lyceum.
 */
export async function runnerCommand(): Promise<string[]> {
  return ["python3", "-s", "-B", "-X", "utf8", "-c", await source("runner/bootstrap.py")];
}

/** The environment variables of the runner: none of the host's, and the same hash seed in every run. */
export const runnerEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  TMPDIR: "/tmp",
  LANG: "C.UTF-8",
  PYTHONHASHSEED: "0",
  OPENBLAS_NUM_THREADS: "1",
  OMP_NUM_THREADS: "1",
  // Without this, each child would resolve every function again at its first call.
  LD_BIND_NOW: "1",
};

/** Returns the first frame that a runner reads: its program and settings. */
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
