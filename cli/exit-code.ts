import { CommanderError } from "commander";
import { toErrorData } from "../src/contract/errors/index.ts";

/** The exit codes of the process. Scripts may rely on them. */
export const exitCodes = {
  /** The command succeeded. */
  ok: 0,
  /** The command started and failed. */
  failure: 1,
  /** The command line or the config is invalid, or names something that does not exist. */
  usage: 2,
  /** Ctrl-C or SIGTERM stopped the command. */
  interrupted: 130,
} as const;

/** The exit codes as help text. */
export const exitCodeHelp = `
Exit codes:
  0    done
  1    failed
  2    the command line or the config is wrong
  130  interrupted`;

/** Returns the exit code for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  const { code } = toErrorData(error);
  if (code === "aborted") return exitCodes.interrupted;
  return code.startsWith("config.") || code === "data.not-found" ? exitCodes.usage : exitCodes.failure;
}
