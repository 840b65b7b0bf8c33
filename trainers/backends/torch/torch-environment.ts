import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/index.ts";

/** The builds of PyTorch that can be chosen. */
export type CudaVersion = "12" | "13" | "cpu";

/** Returns a folder of Lyceum in the user's cache folder. */
export function cacheFolder(name: string): string {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache"), "lyceum", name);
}

/** Returns the folder of the virtual environment that {@link installTorch} makes. */
export function torchEnvironment(): string {
  return cacheFolder("torch");
}

/**
 * Returns the interpreter of the PyTorch worker: `LYCEUM_PYTHON`, else the one of {@link torchEnvironment}. Undefined if
 * neither is there.
 */
export function configuredPython(): string | undefined {
  const installed = pythonIn(torchEnvironment());
  return process.env.LYCEUM_PYTHON || (existsSync(installed) ? installed : undefined);
}

/** Returns {@link configuredPython}, or `python3`. */
export function findPython(): string {
  return configuredPython() ?? "python3";
}

/** A command of an installation. */
export type InstallStep = readonly [program: string, ...args: string[]];

/**
 * Returns the commands that make a virtual environment. With uv, the build of PyTorch can be chosen. Throws
 * `config.invalid` if a choice needs uv and it is missing.
 */
export function installSteps(options: {
  readonly folder: string;
  /** If absent, the build that the package index has for this system. */
  readonly cuda: CudaVersion | undefined;
  readonly uv: boolean;
  readonly python: string;
}): InstallStep[] {
  const { folder, cuda, uv, python } = options;
  const requirements = path.join(import.meta.dirname, "requirements.txt");
  const interpreter = pythonIn(folder);
  if (uv) {
    const build = {
      "12": ["--torch-backend", "cu128"],
      "13": ["--torch-backend", "cu130"],
      cpu: ["--torch-backend", "cpu"],
    };
    return [
      ["uv", "venv", "--python", python, folder],
      ["uv", "pip", "install", "--python", interpreter, ...(cuda === undefined ? [] : build[cuda]), "-r", requirements],
    ];
  }
  if (cuda !== undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: `--cuda ${cuda} needs uv, which is not installed.`,
      hint: `Run ${python} -m pip install uv, or leave --cuda out: the package index has one build for each system.`,
    });
  }
  return [
    [python, "-m", "venv", folder],
    [interpreter, "-m", "pip", "install", "-r", requirements],
  ];
}

/**
 * Makes {@link torchEnvironment}, and replaces an earlier one when the new one is complete. The programs print to this
 * process's output. Throws `backend.failed` if one fails.
 */
export async function installTorch(
  steps: (folder: string) => readonly InstallStep[],
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<string> {
  const folder = torchEnvironment();
  const before = `${folder}.before`;
  await mkdir(path.dirname(folder), { recursive: true });
  await rm(before, { recursive: true, force: true });
  // A virtual environment contains its own path, so it is made where it stays.
  if (existsSync(folder)) await rename(folder, before);
  try {
    for (const [program, ...args] of steps(folder)) await runProgram(program, args, signal);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (existsSync(before)) await rename(before, folder);
    throw error;
  }
  await rm(before, { recursive: true, force: true });
  return pythonIn(folder);
}

/** True if a program can be started. */
export async function hasProgram(program: string): Promise<boolean> {
  const child = spawn(program, ["--version"], { stdio: "ignore" });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}

function pythonIn(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

function runProgram(program: string, args: readonly string[], signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (how: string, cause?: unknown): void =>
      reject(
        signal?.aborted === true
          ? signal.reason
          : new LyceumError({
              code: "backend.failed",
              message: `${[program, ...args].join(" ")} ${how}.`,
              hint: "Its output has the reason. An environment of your own works too: set LYCEUM_PYTHON to an interpreter with torch, transformers and peft.",
              cause,
            }),
      );
    const child = spawn(program, args, {
      stdio: ["ignore", "inherit", "inherit"],
      ...(signal === undefined ? {} : { signal }),
    });
    child.once("error", (error) => failed(`cannot be started: ${error.message}`, error));
    child.once("exit", (code, killed) => (code === 0 ? resolve() : failed(`ended with ${killed ?? `code ${code}`}`)));
  });
}
