import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

/** Where a command runs. */
export interface Place {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Runs a line of a document in a shell and returns what it prints to stdout. `typed` is what the reader types. A server
 * (`lyceum view`) is ended by Ctrl-C when it has printed its address. Throws if the line fails.
 */
export async function runCommand(
  command: string,
  place: Place,
  { typed = "" }: { readonly typed?: string } = {},
): Promise<string> {
  if (/\blyceum view\b/.test(command) && !command.includes("--export")) return runUntilServed(command, place);
  const { cwd, environment } = place;
  const running = promisify(execFile)("sh", ["-c", command], { cwd, env: environment, maxBuffer: 1 << 26 });
  // A command that reads nothing may end before its input is closed.
  running.child.stdin?.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  running.child.stdin?.end(typed);
  return (await running).stdout;
}

async function runUntilServed(command: string, { cwd, environment }: Place): Promise<string> {
  const child = spawn("sh", ["-c", `exec ${command}`], { cwd, env: environment, detached: true });
  let output = "";
  for await (const part of child.stdout) {
    output += String(part);
    if (output.includes("http://")) break;
  }
  process.kill(-child.pid!, "SIGINT");
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  return output;
}
