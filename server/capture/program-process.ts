import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { ProgramError } from "./program-error.ts";

/** The maximum number of characters of an answer, and of the kept end of the error output. */
const answerCharacters = 8 * 2 ** 20;
const errorCharacters = 8_192;
const isWindows = process.platform === "win32";
/** The running programs. A process group of its own would outlive this process. */
const running = new Set<ChildProcess>();

/** The options of {@link runProcess}. */
export interface ProcessOptions {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly [string, ...string[]];
  /** Variables that are added to those of this process. An undefined one is removed. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory. That of this process by default. */
  readonly cwd?: string | undefined;
  /** The text for its standard input. */
  readonly input: string;
  /** Kills the program and all processes that it started. */
  readonly signal: AbortSignal;
}

/**
 * Runs a program in a process group of its own and returns its standard output without the last line break. The group is
 * killed when the program ends, so that no background process survives it. Rejects with a {@link ProgramError} that has
 * the last lines of its error output, and with the signal's reason after an abort.
 */
export async function runProcess({ command, env, cwd, input, signal }: ProcessOptions): Promise<string> {
  signal.throwIfAborted();
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    detached: !isWindows,
    stdio: ["pipe", "pipe", "pipe"],
  });
  if (running.size === 0) process.once("exit", killRunning);
  running.add(child);
  const onAbort = (): void => killGroup(child);
  signal.addEventListener("abort", onAbort, { once: true });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.length > answerCharacters) killGroup(child);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-errorCharacters);
  });
  // A program need not read its input.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  try {
    const closed = once(child, "close");
    // Processes that the program left behind keep its output open.
    child.once("exit", () => killGroup(child));
    await closed.catch((cause: unknown) => {
      throw new ProgramError(`could not be started: ${(cause as Error).message}`, { cause });
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
    running.delete(child);
    if (running.size === 0) process.off("exit", killRunning);
  }
  signal.throwIfAborted();
  if (output.length > answerCharacters) throw new ProgramError(`wrote more than ${answerCharacters} characters`);
  if (child.exitCode === 0) return output.replace(/\r?\n$/, "");
  const how = child.exitCode === null ? `was ended by ${child.signalCode}` : `ended with code ${child.exitCode}`;
  throw new ProgramError(how, { stderr: errors });
}

/** Kills all running programs. Called when this process ends. */
export function killRunning(): void {
  for (const child of running) killGroup(child);
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(isWindows ? pid : -pid, "SIGKILL");
  } catch {
    // The group has already ended.
  }
}
