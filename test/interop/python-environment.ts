import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { execute } from "./execute.ts";

const requirements = join(import.meta.dirname, "requirements.txt");

/**
 * The folder of a Python virtual environment with everything in requirements.txt: `LYCEUM_INTEROP_VENV`, or one under
 * the user's cache folder that is named after the requirements and the interpreter. It is made where it is missing
 * (a download of about 2.6 GB, a minute on a fast network) and is complete if it exists.
 */
export async function providePythonEnvironment(): Promise<string> {
  const folder = process.env.LYCEUM_INTEROP_VENV || (await defaultFolder());
  await provideFolder(folder, async (partial) => {
    console.log(`Making the interop suite's Python environment in ${folder} (once, about 2.6 GB to download).`);
    await execute("python3", ["-m", "venv", partial], { timeoutMs: 120_000 });
    await execute(
      pythonOf(partial),
      ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-cache-dir", "-r", requirements],
      { timeoutMs: 1_500_000 },
    );
  });
  return folder;
}

/** The interpreter of a virtual environment. */
export function pythonOf(environment: string): string {
  return join(environment, "bin", "python");
}

/** Makes a folder by `make`, which gets a partial folder beside it; nothing half-made ever has the final name. */
export async function provideFolder(folder: string, make: (partial: string) => Promise<void>): Promise<void> {
  if (await exists(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  const partial = join(dirname(folder), `.partial-${basename(folder)}-${randomUUID()}`);
  try {
    await make(partial);
    await rename(partial, folder);
  } catch (error) {
    // Another run that made the same folder in the meantime is as good.
    if (!(await exists(folder))) throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function defaultFolder(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const interpreter = await execute("python3", ["-c", "import sys; print(sys.version, sys.prefix)"], {
    timeoutMs: 60_000,
  });
  const hash = createHash("sha256")
    .update(await readFile(requirements))
    .update(interpreter)
    .digest("hex");
  return join(cache, "lyceum", `interop-${hash.slice(0, 16)}`);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
