import type { Command } from "commander";
import { append, positive, wholeNumber } from "./option-values.ts";

/** The arguments of `lyceum check`. */
export interface CheckArguments {
  /** A name, a file or a package. */
  readonly environment: string;
  /** The options of the environment as `option=value`, in order. */
  readonly set: readonly string[];
  readonly judge?: string;
  /** The maximum number of requests to the judge. */
  readonly judgeRequests: number;
  /** The environment's first split by default. */
  readonly split?: string;
  readonly tasks: number;
  /** The number of episodes per task. */
  readonly episodes: number;
  readonly seed: number;
  /** The names of rules to skip. */
  readonly skip: readonly string[];
  /** The timeout of one call of the environment, in seconds. */
  readonly callSeconds: number;
  /** Also print the rules that pass. */
  readonly all: boolean;
}

/** Adds `check`. */
export function addCheckCommand(program: Command, commands: { check(args: CheckArguments): Promise<void> }): void {
  program
    .command("check")
    .summary("check an environment against all rules")
    .description("play an environment with random answers, and report which rules fail and how to fix them")
    .argument("<environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .option("--judge <model>", "the model that judges, if the environment has a judge")
    .option("--judge-requests <n>", "the maximum number of requests to the judge", positive, 10)
    .option("--split <split>", "the split of the tasks, such as test (default: the first)")
    .option("-n, --tasks <n>", "the number of tasks to play", positive, 3)
    .option("--episodes <n>", "the number of episodes per task", positive, 10)
    .option("--seed <n>", "the seed of the random answers", wholeNumber, 0)
    .option("--skip <rule>", "a rule to skip; repeatable", append, [])
    .option("--call-seconds <n>", "the timeout of one call of the environment, in seconds", positive, 60)
    .option("--all", "also print the rules that pass", false)
    .action((environment: string, args: Omit<CheckArguments, "environment">) =>
      commands.check({ environment, ...args }),
    );
}
