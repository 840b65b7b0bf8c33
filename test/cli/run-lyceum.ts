import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { onTestFinished } from "vitest";

const main = join(import.meta.dirname, "../../src/cli/main.ts");
const killItself = join(import.meta.dirname, "kill-itself.ts");

/** How the command line ended, and what it wrote. */
export interface LyceumResult {
  /** Null where a signal killed it. */
  readonly code: number | null;
  /** What killed it, if a signal did. */
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the command line in a process of its own, which is killed with the test if it still runs then. `onOutput` sees
 * everything that it has written to stdout so far: nothing at first, when it has just been started.
 */
export function lyceum(
  args: readonly string[],
  options: {
    readonly folder: string;
    /** What is piped in, and whether more could come; nothing by default. */
    readonly input?: { readonly text: string; readonly open?: boolean };
    readonly onOutput?: (output: string, child: ChildProcess) => void;
    /** The same of stderr. */
    readonly onError?: (output: string, child: ChildProcess) => void;
    /** Words at which it kills itself once it has written them: another process may come too late. */
    readonly lastWords?: string;
    /** Beside this process's environment. */
    readonly variables?: Readonly<Record<string, string>>;
    /** Who runs it, by number; the user of this process by default. */
    readonly user?: number;
  },
): Promise<LyceumResult> {
  // Started directly, whatever started the tests.
  const { npm_lifecycle_event: _, ...env } = process.env;
  const { folder, lastWords, variables, user } = options;
  const first = lastWords === undefined ? [] : ["--import", killItself];
  const child = spawn(process.execPath, [...first, main, ...args], {
    cwd: folder,
    ...(user === undefined ? {} : { uid: user, gid: user }),
    env: { ...env, ...variables, ...(lastWords === undefined ? {} : { LYCEUM_TEST_LAST_WORDS: lastWords }) },
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
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

/** A folder with `tiny.yaml`, a run of three steps that take milliseconds. It goes when the test ends. */
export async function tinyRunFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-cli-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "tiny.yaml"), tinyConfig);
  return folder;
}

/** The config of {@link tinyRunFolder}. */
export const tinyConfig = `seed: 1
environment: { id: math, tasks: arithmetic, difficulty: 1, answerOnly: true }
model:
  scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 128 }
  device: cpu
  threads: 1
algorithm: { id: sft }
sampling: { maxTokens: 8 }
training: { steps: 3, batchSize: 4, learningRate: 1e-3, sampleEvery: 1 }
evaluation: { split: "test[:4]" }
`;

/** Every file below a folder, with a hash of what is in it; empty folders are there with a slash. */
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
