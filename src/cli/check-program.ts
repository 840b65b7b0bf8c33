import type { Command } from "commander";
import type { SharedOptions } from "./eval-program.ts";

/** The arguments of `lyceum check`. */
export interface CheckArguments {
  /** A name, a file or a package. */
  readonly environment: string;
  /** `option=value` of the environment, in order. */
  readonly set: readonly string[];
  /** The environment's first split when absent. */
  readonly split?: string;
  readonly tasks: number;
  /** Of each task. */
  readonly episodes: number;
  readonly seed: number;
  /** Names of rules that are not tried. */
  readonly skip: readonly string[];
  /** The most seconds of one call of the environment. */
  readonly callSeconds: number;
  /** Print the rules that are kept, too. */
  readonly all: boolean;
}

/** The command that checks an environment. */
export interface CheckCommands {
  check(args: CheckArguments): Promise<void>;
}

/** Adds `check`. */
export function addCheckCommand(
  program: Command,
  commands: CheckCommands,
  read: Pick<SharedOptions, "positive" | "wholeNumber" | "append">,
): void {
  const { positive, wholeNumber, append } = read;
  program
    .command("check")
    .summary("try an environment's rules, and say how to fix what fails")
    .description("play an environment with random answers, and say which rules fail and how to fix what fails them")
    .argument("<environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .option("--split <split>", "where the tasks are from, such as test (default: the first)")
    .option("-n, --tasks <n>", "how many tasks to play", positive, 3)
    .option("--episodes <n>", "episodes of each task", positive, 10)
    .option("--seed <n>", "another one tries other answers", wholeNumber, 0)
    .option("--skip <rule>", "a rule that is not tried; repeatable", append, [])
    .option("--call-seconds <n>", "the most seconds of one call of the environment", positive, 60)
    .option("--all", "print the rules that pass, too", false)
    .action((environment: string, args: Omit<CheckArguments, "environment">) =>
      commands.check({ environment, ...args }),
    );
}
