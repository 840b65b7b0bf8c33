import { type Command, InvalidArgumentError, Option } from "commander";
import { addEnvironmentAlias } from "./old-flag-options.ts";
import { addSamplingOptions, type SamplingArguments } from "./sampling-options.ts";

/** What `lyceum eval` was told. */
export interface EvalArguments extends SamplingArguments {
  readonly benchmarks: readonly string[];
  /** A name, a file or a package, in place of benchmarks. */
  readonly env?: string;
  /** `option=value`, or `benchmark.option=value`, in order. */
  readonly set: readonly string[];
  /** See `ModelArguments`. */
  readonly model: readonly string[];
  readonly base?: string;
  /** `option=value` of the model, in order. */
  readonly modelOption: readonly string[];
  /** Each plays against the model, and against each other. */
  readonly opponent: readonly string[];
  readonly judge?: string;
  readonly device: string;
  /** A folder, or a JSON file; a new folder in runs/eval when absent. */
  readonly output?: string;
  readonly split?: string;
  /** The most tasks. */
  readonly limit?: number;
  /** The most episodes, in whole tasks. */
  readonly numEpisodes?: number;
  readonly samples?: number;
  readonly k?: readonly number[];
  readonly format?: "chat" | "completion";
  readonly shots?: number;
  /** When absent: 0, or 1 if each task is played several times. */
  readonly temperature?: number;
  /** The benchmark's own when absent. */
  readonly maxTokens?: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly price?: { readonly prompt: number; readonly completion: number };
  readonly resume: boolean;
  readonly retryFailed: boolean;
  /** Thresholds, `metric=value`. */
  readonly min: readonly string[];
  readonly max: readonly string[];
  readonly json: boolean;
}

/** What `lyceum compare` was told. */
export interface CompareArguments {
  readonly first: string;
  readonly second: string;
  readonly json: boolean;
}

/** What `lyceum rescore` was told. */
export interface RescoreArguments {
  readonly folder: string;
  readonly output: string;
  /** The environment to grade in; the recorded one when absent. */
  readonly env?: string;
  readonly set: readonly string[];
  /** A module that exports `rubric`, to grade by in place of an environment. */
  readonly rubric?: string;
  readonly judge?: string;
  readonly concurrency: number;
  readonly json: boolean;
}

/** The commands that measure models. */
export interface EvaluationCommands {
  eval(args: EvalArguments): Promise<void>;
  compare(args: CompareArguments): Promise<void>;
  rescore(args: RescoreArguments): Promise<void>;
}

/** What the options of several commands share. */
export interface SharedOptions {
  readonly positive: (value: string) => number;
  readonly wholeNumber: (value: string) => number;
  readonly finite: (value: string) => number;
  readonly append: (value: string, values: string[]) => string[];
  readonly appendFirst: (value: string, values: readonly string[] | undefined) => string[];
  readonly modelKinds: string;
  readonly modelOptionHelp: string;
  readonly baseHelp: string;
  readonly devices: readonly string[];
}

/** Adds `eval`, `compare` and `rescore`. */
export function addEvaluationCommands(program: Command, commands: EvaluationCommands, read: SharedOptions): void {
  const { positive, wholeNumber, finite, append, appendFirst, devices, modelKinds, modelOptionHelp, baseHelp } = read;
  const evaluation = program
    .command("eval")
    .summary("measure a model on benchmarks, or in any environment")
    .description("measure a model on benchmarks, or in any environment; every episode is kept in a folder")
    .argument("[benchmarks...]", "such as humaneval gsm8k; a wrong name lists them all")
    .option("-e, --env <environment>", "in place of benchmarks: a name, a file or an npm package")
    .option(
      "-s, --set <option=value>",
      "an option of the environment, of one benchmark as gsm8k.path=...; repeatable",
      append,
      [],
    )
    .requiredOption(
      "-m, --model <model>",
      `${modelKinds}, or demonstration; agent=MODEL for each agent (repeatable)`,
      appendFirst,
    )
    .option("--base <model>", baseHelp)
    .option("-M, --model-option <option=value>", modelOptionHelp, append, [])
    .option(
      "--opponent <model>",
      "plays against the model, both in every seat in turn; repeatable: a tournament of all, with ratings",
      append,
      [],
    )
    .option("--judge <model>", "judges, where a model does")
    .addOption(
      new Option("--device <device>", "what runs a model on the embedded engine").choices(devices).default("auto"),
    )
    .option(
      "-o, --output <folder>",
      "where the run is kept; FILE.json gets the summary too (default: a new one in runs/eval)",
    )
    .option("--split <split>", "the tasks, such as test[:100] (default: the benchmark's, else test or the first)")
    .option("-l, --limit <n>", "the most tasks", positive)
    .option("-n, --num-episodes <n>", "the most episodes: tasks times samples", positive)
    .option("--samples <n>", "how often each task is played (default: 1, or 2 with an opponent)", positive)
    .option("-k, --k <list>", "the k of pass@k and pass^k, such as 1,5,10 (default: 1 and the samples)", counts)
    .addOption(new Option("--format <format>", "how tasks are put, chat unless given").choices(["chat", "completion"]))
    .option("--shots <n>", "worked examples in the prompt (default: as published)", wholeNumber)
    .option("--temperature <t>", "0 is greedy (default: 0, or 1 with --samples above 1)", finite)
    .option("--max-tokens <n>", "the most tokens of one answer (default: the benchmark's, else 512)", positive)
    .option("--concurrency <n>", "episodes that are played at once", positive, 64)
    .option("--seed <n>", "seeds everything random", wholeNumber, 0)
    .option("--price <in/out>", "dollars for a million tokens read and written, such as 0.15/0.6", price)
    .option("-r, --resume", "go on with the run in the output folder", false)
    .option("--retry-failed", "and play the episodes again that failed or were not scored", false)
    .option("--min <metric=value>", "fail below it, such as pass@1=0.6; repeatable", append, [])
    .option("--max <metric=value>", "fail above it, such as unscored=0; repeatable", append, [])
    .option("--json", "print the summary as JSON", false)
    .action((benchmarks: string[], args: Omit<EvalArguments, "benchmarks">) => commands.eval({ benchmarks, ...args }));
  addSamplingOptions(evaluation, { positive, finite });
  addEnvironmentAlias(evaluation);

  program
    .command("compare")
    .summary("compare two evaluations task by task, or two trainings")
    .description(
      "compare two evaluations on the tasks that both have (wins, losses, a paired test), or the scores and configs of two trainings",
    )
    .argument("<first>", "the folder of an evaluation")
    .argument("<second>", "another")
    .option("--json", "as JSON", false)
    .action((first: string, second: string, args: { json: boolean }) => commands.compare({ first, second, ...args }));

  program
    .command("rescore")
    .summary("grade the episodes of an evaluation again")
    .description("grade the episodes of an evaluation again, without generating anything")
    .argument("<folder>", "the folder of an evaluation")
    .requiredOption("-o, --output <folder>", "where the graded run is kept")
    .option("-e, --env <environment>", "grade in this environment (default: the recorded one)")
    .option("-s, --set <option=value>", "an option of the environment, over the recorded ones; repeatable", append, [])
    .option("--rubric <file>", "grade by a rubric that this module exports, in place of an environment")
    .option("--judge <model>", "judges, where a model does")
    .option("--concurrency <n>", "tasks that are graded at once", positive, 16)
    .option("--json", "print the summary as JSON", false)
    .action((folder: string, args: Omit<RescoreArguments, "folder">) => commands.rescore({ folder, ...args }));
}

function counts(value: string): number[] {
  const list = value.split(",").map(Number);
  if (list.every((count) => Number.isSafeInteger(count) && count > 0)) return list;
  throw new InvalidArgumentError("Expected whole numbers above 0, such as 1,5,10.");
}

function price(value: string): { readonly prompt: number; readonly completion: number } {
  const match = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(value);
  if (match !== null) return { prompt: Number(match[1]), completion: Number(match[2]) };
  throw new InvalidArgumentError("Expected two prices, such as 0.15/0.6.");
}
