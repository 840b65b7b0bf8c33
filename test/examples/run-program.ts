import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The root of the repository. */
export const repository: string = join(import.meta.dirname, "../..");

/** The exit and the output of a process. */
export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a TypeScript program in which `lyceum` is resolved to the sources of this repository. */
export function runProgram(
  script: string,
  options: {
    readonly arguments?: readonly string[];
    readonly folder: string;
    readonly environment?: Readonly<Record<string, string>>;
  },
): Promise<ProgramResult> {
  const hook = pathToFileURL(join(repository, "scripts/import-from-source.ts")).href;
  const child = spawn(process.execPath, ["--import", hook, script, ...(options.arguments ?? [])], {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...output }));
  });
}
