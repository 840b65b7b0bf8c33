import { createHash } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { execute } from "./execute.ts";
import { cacheFolder, provideFolder } from "./python-environment.ts";

/** A project of uv with its packages installed. */
export interface UvProject {
  /** The folder of `pyproject.toml`. */
  readonly project: string;
  /** The interpreter that the project was made with. */
  readonly python: string;
  /** The folder with uv. */
  readonly bin: string;
}

/** Returns a project of uv for Python 3.12. It is made once, in the user's cache. */
export async function provideUvProject(wanted: {
  /** The prefix of its folder's name. */
  readonly name: string;
  /** The text of `pyproject.toml`. */
  readonly project: string;
  readonly extras: readonly string[];
  /** A text such as "5 GB". */
  readonly download: string;
}): Promise<UvProject> {
  const { name, project, extras, download } = wanted;
  const python = await findPython();
  const hash = createHash("sha256").update(project).update(python).digest("hex").slice(0, 16);
  const folder = join(cacheFolder(), `${name}-${hash}`);
  await provideFolder(folder, async (partial) => {
    console.log(`Making a Python environment in ${folder} (once, about ${download} to download).`);
    await execute(python, ["-m", "venv", join(partial, "uv")], { timeoutMs: 120_000 });
    await execute(join(partial, "uv/bin/python"), ["-m", "pip", "install", "--quiet", "uv"], { timeoutMs: 300_000 });
    await mkdir(join(partial, "project"));
    await writeFile(join(partial, "project/pyproject.toml"), project);
    const sync = ["sync", "--quiet", "--project", join(partial, "project"), "--python", python];
    await execute(join(partial, "uv/bin/uv"), [...sync, ...extras.flatMap((extra) => ["--extra", extra])], {
      timeoutMs: 1_500_000,
    });
  });
  return { project: join(folder, "project"), python, bin: join(folder, "uv/bin") };
}

/** Finds Python 3.12 on the path or among those of pyenv. */
async function findPython(): Promise<string> {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  const versions = (await readdir(pyenv).catch(() => [])).filter((name) => name.startsWith("3.12."));
  for (const candidate of ["python3.12", ...versions.map((name) => join(pyenv, name, "bin/python"))]) {
    const print = ["-c", "import sys; print(sys.executable)"];
    const found = await execute(candidate, print, { timeoutMs: 20_000 }).catch(() => undefined);
    if (found !== undefined) return found.trim();
  }
  throw new Error("Python 3.12 was not found. Install it, because these servers need it.");
}
