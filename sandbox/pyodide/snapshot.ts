import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { firstStart, type StartProgress } from "../pool/watched-start.ts";
import { PythonChild } from "./child-process.ts";

const maxSnapshotBytes = 2 ** 28;
const harnessFiles = {
  "candidate.py": "../python/candidate.py",
  "codec.py": "../python/codec.py",
  "empty_array.py": "../python/empty_array.py",
  "equality.py": "../python/equality.py",
  "judge.py": "../python/judge.py",
  "objects.py": "../python/objects.py",
  "rewriting.py": "../python/rewriting.py",
  "stand_in.py": "../python/stand_in.py",
  "standard.py": "../python/standard.py",
  "vacuity.py": "../python/vacuity.py",
  "runner.py": "./runner.py",
};

/** The folder and the version of Pyodide. */
export interface PyodidePackage {
  /** Its folder, with a trailing slash. */
  readonly folder: string;
  readonly version: string;
}

/** Finds the installed Pyodide. */
export async function findPyodide(): Promise<PyodidePackage> {
  const folder = fileURLToPath(new URL(".", import.meta.resolve("pyodide")));
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string };
  return { folder, version };
}

/**
 * Returns the path of a snapshot of a started Python. Creates it if the cache has none for this Pyodide, this Node and
 * this harness. Several processes may call it at the same time, because the complete file appears at once.
 */
export async function provideSnapshot(options: {
  readonly pyodide: PyodidePackage;
  readonly cacheFolder?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}): Promise<string> {
  const { pyodide, cacheFolder, signal } = options;
  const harness = await readHarness();
  const hash = createHash("sha256")
    .update(JSON.stringify([harness, process.version]))
    .digest("hex")
    .slice(0, 16);
  const folder = cacheFolder ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "lyceum", "sandbox");
  const path = join(folder, `pyodide-${pyodide.version}-${hash}.snapshot`);
  if ((await stat(path).catch(() => undefined)) !== undefined) return path;
  const start = (progress: StartProgress): Promise<Buffer> => takeSnapshot({ pyodide, harness, progress });
  const snapshot = await firstStart({ start, signal });
  await mkdir(folder, { recursive: true });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, snapshot);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return path;
}

async function takeSnapshot(options: {
  readonly pyodide: PyodidePackage;
  readonly harness: object;
  readonly progress: StartProgress;
}): Promise<Buffer> {
  const { pyodide, harness, progress } = options;
  const child = new PythonChild({ pyodide: pyodide.folder, harness });
  try {
    return await child.firstMessage(maxSnapshotBytes, progress);
  } finally {
    await child.kill();
  }
}

async function readHarness(): Promise<Record<string, string>> {
  const entries = Object.entries(harnessFiles).map(async ([name, path]) => {
    return [name, await readFile(new URL(path, import.meta.url), "utf8")] as const;
  });
  return { "__init__.py": "", ...Object.fromEntries(await Promise.all(entries)) };
}
