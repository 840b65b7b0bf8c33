import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";

const main = join(import.meta.dirname, "../../cli/main.ts");
const killItself = join(import.meta.dirname, "kill-itself.ts");

/** The exit and the output of a command line. */
export interface LyceumResult {
  /** Null if a signal killed it. */
  readonly code: number | null;
  /** The signal that killed it, if any. */
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the command line in its own process. It is killed with the test if it still runs then. `onOutput` receives
 * everything that it has written to stdout so far, and an empty text at the start.
 */
export function lyceum(
  args: readonly string[],
  options: {
    readonly folder: string;
    /** The input, and whether it stays open. Empty by default. */
    readonly input?: { readonly text: string; readonly open?: boolean };
    readonly onOutput?: (output: string, child: ChildProcess) => void;
    /** The same for stderr. */
    readonly onError?: (output: string, child: ChildProcess) => void;
    /** The text after which it kills itself. A kill from another process could be too late. */
    readonly lastWords?: string;
    /** Environment variables, in addition to those of this process. */
    readonly variables?: Readonly<Record<string, string>>;
    /** The number of the user who runs it. The user of this process by default. */
    readonly user?: number;
  },
): Promise<LyceumResult> {
  // Started directly, independent of what started the tests.
  const { npm_lifecycle_event: _, ...env } = process.env;
  const { folder, lastWords, variables, user } = options;
  const first = lastWords === undefined ? [] : ["--import", killItself];
  const child = spawn(process.execPath, [...first, main, ...args], {
    cwd: folder,
    ...(user === undefined ? {} : { uid: user, gid: user }),
    env: { ...env, ...variables, ...(lastWords === undefined ? {} : { LYCEUM_TEST_LAST_WORDS: lastWords }) },
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  // A command that reads nothing may end before its input is closed.
  child.stdin?.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  child.stdin?.write(options.input?.text ?? "");
  if (options.input?.open !== true) child.stdin?.end();
  onTestFinished(() => {
    if (child.exitCode === null) child.kill("SIGKILL");
  });
  const streams = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]!.setEncoding("utf8").on("data", (text: string) => {
      streams[name] += text;
      if (name === "stdout") options.onOutput?.(streams.stdout, child);
      else options.onError?.(streams.stderr, child);
    });
  }
  options.onOutput?.("", child);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, ...streams }));
  });
}

/** Creates a folder with `tiny.yaml`, a run of three steps that take milliseconds. It is removed when the test ends. */
export async function tinyRunFolder(): Promise<string> {
  const folder = temporaryFolder();
  await writeFile(join(folder, "tiny.yaml"), tinyConfig);
  return folder;
}

/** The config of {@link tinyRunFolder}. */
export const tinyConfig = `seed: 1
environment: { id: math, tasks: arithmetic, difficulty: 2, answerOnly: true }
model:
  scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 128 }
  device: cpu
  threads: 1
algorithm: { id: sft }
sampling: { maxTokens: 8 }
training: { steps: 3, batchSize: 4, learningRate: 1e-3, sampleEvery: 1 }
evaluation: { split: "test[:4]" }
preflight: false
`;

/** Returns every file below a folder with a hash of its content. Empty folders are listed with a slash. */
export async function folderContents(folder: string): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path);
    if (entry.isDirectory()) {
      if ((await readdir(path)).length === 0) contents[`${name}/`] = "";
    } else {
      contents[name] = createHash("sha256")
        .update(await readFile(path))
        .digest("hex");
    }
  }
  return contents;
}
