import { CommanderError } from "commander";
import { toErrorData } from "../contract/errors/index.ts";

/** What the process exits with. Scripts may rely on it. */
export const exitCodes = {
  /** The command did what was asked. */
  ok: 0,
  /** It began and failed. */
  failure: 1,
  /** The command line or the config asks for something that does not exist or cannot be. */
  usage: 2,
  /** Ctrl-C or SIGTERM stopped it. */
  interrupted: 130,
} as const;

/** The exit codes as lines of help. */
export const exitCodeHelp = `
Exit codes:
  0    done
  1    failed
  2    the command line or the config is wrong
  130  interrupted`;

/** The exit code for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  const { code } = toErrorData(error);
  if (code === "aborted") return exitCodes.interrupted;
  return code.startsWith("config.") || code === "data.not-found" ? exitCodes.usage : exitCodes.failure;
}
