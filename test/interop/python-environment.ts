import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { execute } from "./execute.ts";

/** A Python virtual environment that tests need. */
export interface WantedEnvironment {
  /** The prefix of its folder's name. */
  readonly name: string;
  /** The file of this folder that lists its packages. */
  readonly requirements: string;
  /** A text such as "2.6 GB". */
  readonly download: string;
  /** The interpreter. `python3` by default. */
  readonly python?: string | undefined;
}

/** The needs of the interop suite, without the harnesses that have their own environment. */
export const interopEnvironment: WantedEnvironment = {
  name: "interop",
  requirements: "requirements.txt",
  download: "2.6 GB",
};

/** TRL with what it needs to train an adapter. */
export const trlEnvironment: WantedEnvironment = {
  name: "trl",
  requirements: "trl-requirements.txt",
  download: "2.6 GB",
};

/**
 * Returns the folder of a Python virtual environment with everything in its list of requirements. It is in the user's
 * cache folder and named after the requirements and the interpreter. It is created if it is missing, and complete if it
 * exists.
 */
export async function providePythonEnvironment(wanted: WantedEnvironment): Promise<string> {
  const requirements = join(import.meta.dirname, wanted.requirements);
  const { python = "python3" } = wanted;
  const folder = await folderOf(wanted.name, { requirements, python });
  await provideFolder(folder, async (partial) => {
    console.log(`Making a Python environment in ${folder} (once, about ${wanted.download} to download).`);
    await execute(python, ["-m", "venv", partial], { timeoutMs: 120_000 });
    await execute(
      pythonOf(partial),
      ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-cache-dir", "-r", requirements],
      { timeoutMs: 1_500_000 },
    );
  });
  return folder;
}

/**
 * Returns an interpreter of at least a version: `python3`, a newer one by its name, or one of pyenv. Returns undefined if
 * there is none.
 */
export async function newestPython(atLeast: readonly [major: number, minor: number]): Promise<string | undefined> {
  const installed = join(homedir(), ".pyenv", "versions");
  const versions = await readdir(installed).catch(() => []);
  const candidates = [
    "python3",
    "python3.13",
    "python3.12",
    ...versions.map((name) => join(installed, name, "bin/python")),
  ];
  const check = `import sys; print(sys.version_info >= (${atLeast.join(", ")}))`;
  for (const candidate of candidates) {
    const answer = await execute(candidate, ["-c", check], { timeoutMs: 60_000 }).catch(() => "");
    if (answer.trim() === "True") return candidate;
  }
  return undefined;
}

/** The folder of everything that is downloaded or made once. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "lyceum");
}

/** Returns the interpreter of a virtual environment. */
export function pythonOf(environment: string): string {
  return join(environment, "bin", "python");
}

/**
 * Creates a folder by `make`, which gets a temporary folder next to it. An incomplete folder never has the final name.
 */
export async function provideFolder(folder: string, make: (partial: string) => Promise<void>): Promise<void> {
  if (await exists(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  const partial = join(dirname(folder), `.partial-${basename(folder)}-${randomUUID()}`);
  try {
    await make(partial);
    await rename(partial, folder);
  } catch (error) {
    // Another run may have created the same folder in the meantime.
    if (!(await exists(folder))) throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function folderOf(
  name: string,
  { requirements, python }: { readonly requirements: string; readonly python: string },
): Promise<string> {
  const interpreter = await execute(python, ["-c", "import sys; print(sys.version, sys.prefix)"], {
    timeoutMs: 60_000,
  });
  const hash = createHash("sha256")
    .update(await readFile(requirements))
    .update(interpreter)
    .digest("hex");
  return join(cacheFolder(), `${name}-${hash.slice(0, 16)}`);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
