import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { warn } from "../../src/core/text/warn.ts";
import { hasWindowsLines, withUnixLines } from "./script-lines.ts";
import { type HarborConfig, readTaskConfig } from "./task-config.ts";

/** A Harbor task folder. */
export interface HarborTask {
  readonly name: string;
  /** The path of its folder, relative to the option `path`. */
  readonly path: string;
  readonly instruction: string;
  readonly config: HarborConfig;
  /** The text files of the folder `solution`, by path. Absent without `solution/solve.sh`. */
  readonly solution?: Readonly<Record<string, string>> | undefined;
  /** The hash of all files of the folders `environment` and `tests`. */
  readonly content: string;
}

const maxDepth = 6;

/**
 * Returns the tasks at a path: of one task folder, or of all task folders below it, by path. Throws `data.not-found` if
 * there is none, and `data.malformed` for a folder that cannot be used.
 */
export async function readHarborTasks(path: string): Promise<readonly HarborTask[]> {
  const root = resolve(path);
  const folders = await taskFolders(root, 0);
  if (folders.length === 0) {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no Harbor task in ${root}.`,
      hint: "A task is a folder with task.toml, instruction.md, environment/Dockerfile and tests/test.sh.",
      data: { folder: root },
    });
  }
  return Promise.all(folders.map((folder) => readTask(root, relative(root, folder))));
}

async function taskFolders(folder: string, depth: number): Promise<readonly string[]> {
  if (existsSync(join(folder, "task.toml"))) return [folder];
  if (depth === maxDepth) return [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
  const found = await Promise.all(below.toSorted().map((name) => taskFolders(join(folder, name), depth + 1)));
  return found.flat();
}

async function readTask(root: string, path: string): Promise<HarborTask> {
  const folder = join(root, path);
  const config = readTaskConfig(await requiredFile(folder, "task.toml"), join(folder, "task.toml"));
  const instruction = await requiredFile(folder, "instruction.md");
  const test = await requiredFile(folder, "tests/test.sh");
  if (hasWindowsLines(Buffer.from(test))) {
    warn(
      "HarborTask",
      `${join(folder, "tests/test.sh")} has the line ends of Windows. Here it runs with those of Linux, as Harbor runs it on Windows. On Linux, Harbor cannot run it.`,
    );
  }
  if (config.image === undefined) await requiredFile(folder, "environment/Dockerfile");
  refuseFile(folder, "environment/docker-compose.yaml", "Compose files are not supported");
  if (config.artifacts !== undefined) {
    const noImage =
      'With verifier.environment_mode = "separate", an image of its own for the verifier is not supported';
    for (const file of ["Dockerfile", "docker-compose.yaml"]) refuseFile(folder, `tests/${file}`, noImage);
  }
  const hasSolution = existsSync(join(folder, "solution", "solve.sh"));
  const hashed = await Promise.all(["environment", "tests"].map((part) => folderFiles(join(folder, part))));
  const hash = createHash("sha256");
  for (const [path, bytes] of hashed.flat()) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  const solution = hasSolution ? withUnixLines(await folderFiles(join(folder, "solution")), "solve.sh") : undefined;
  return {
    name: path || basename(root),
    path,
    instruction,
    config,
    content: hash.digest("hex"),
    ...(solution === undefined
      ? {}
      : { solution: Object.fromEntries(solution.map(([path, bytes]) => [path, bytes.toString()])) }),
  };
}

/** Throws `data.malformed` if a task has a file that would change how it is played. */
function refuseFile(folder: string, path: string, why: string): void {
  if (!existsSync(join(folder, path))) return;
  throw new LyceumError({
    code: "data.malformed",
    message: `The Harbor task ${folder} cannot be used: ${path}. ${why}.`,
    hint: "Leave the task out.",
    data: { folder },
  });
}

async function requiredFile(folder: string, path: string): Promise<string> {
  try {
    return await readFile(join(folder, path), "utf8");
  } catch (cause) {
    throw new LyceumError({
      code: "data.malformed",
      message: `The Harbor task ${folder} has no readable ${path}.`,
      hint: "A task is a folder with task.toml, instruction.md, environment/Dockerfile and tests/test.sh.",
      data: { folder },
      cause,
    });
  }
}

async function folderFiles(folder: string): Promise<readonly (readonly [path: string, bytes: Buffer])[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.toSorted().map(async (file) => [relative(folder, file), await readFile(file)] as const));
}
