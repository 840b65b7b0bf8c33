import { type Command, InvalidArgumentError, Option } from "commander";
import type { Device } from "../trainers/config/model-config.ts";
import type { EngineType } from "./catalog.ts";
import { addModelOptions, modelKinds } from "./model-options.ts";
import { addEnvironmentAlias } from "./old-flag-options.ts";
import { append, finite, positive, wholeNumber } from "./option-values.ts";
import { addSamplingOptions, type SamplingArguments } from "./sampling-options.ts";

/** The arguments of `lyceum eval`. */
export interface EvalArguments extends SamplingArguments {
  readonly benchmarks: readonly string[];
  /** A name, a file or a package, instead of benchmarks. */
  readonly env?: string;
  /** The options as `option=value` or `benchmark.option=value`, in order. */
  readonly set: readonly string[];
  /** See `ModelArguments`. */
  readonly model: readonly string[];
  readonly base?: string;
  readonly backendUrl?: string;
  /** The options of the model as `option=value`, in order. */
  readonly modelOption: readonly string[];
  /** The opponents. Each plays against the model and against the other opponents. */
  readonly opponent: readonly string[];
  readonly judge?: string;
  /** The maximum number of requests to the judge. */
  readonly judgeRequests?: number;
  readonly judgePrice?: { readonly prompt: number; readonly completion: number };
  readonly backend: EngineType;
  readonly device: Device;
  readonly quantize?: 4 | 8 | undefined;
  /** A folder or a JSON file. A new folder in runs/eval by default. */
  readonly output?: string;
  readonly split?: string;
  /** The maximum number of tasks. */
  readonly limit?: number;
  /** The maximum number of episodes, in complete tasks. */
  readonly numEpisodes?: number;
  readonly samples?: number;
  readonly k?: readonly number[];
  readonly format?: "chat" | "completion";
  readonly shots?: number;
  /** By default 0, or 1 if each task is played several times. */
  readonly temperature?: number;
  /** The benchmark's own value by default. */
  readonly maxTokens?: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly price?: { readonly prompt: number; readonly completion: number };
  readonly resume: boolean;
  readonly retryFailed: boolean;
  /** The thresholds as `metric=value`. */
  readonly min: readonly string[];
  readonly max: readonly string[];
  readonly json: boolean;
}

/** The arguments of `lyceum compare`. */
export interface CompareArguments {
  readonly first: string;
  readonly second: string;
  readonly json: boolean;
}

/** The arguments of `lyceum rescore`. */
export interface RescoreArguments {
  readonly folder: string;
  readonly output: string;
  /** The environment that scores the episodes. The recorded one by default. */
  readonly env?: string;
  readonly set: readonly string[];
  /** A module that exports `rubric`. It replaces the environment. */
  readonly rubric?: string;
  readonly judge?: string;
  readonly concurrency: number;
  readonly json: boolean;
}

/** Adds `eval`, `compare` and `rescore`. */
export function addEvaluationCommands(
  program: Command,
  commands: {
    eval(args: EvalArguments): Promise<void>;
    compare(args: CompareArguments): Promise<void>;
    rescore(args: RescoreArguments): Promise<void>;
  },
): void {
  const evaluation = program
    .command("eval")
    .summary("evaluate a model on benchmarks or in an environment")
    .description("evaluate a model on benchmarks or in an environment; stores every episode in a folder")
    .argument("[benchmarks...]", "the benchmarks, such as humaneval gsm8k; an unknown name lists all")
    .option("-e, --env <environment>", "an environment instead of benchmarks: a name, a file or an npm package")
    .option(
      "-s, --set <option=value>",
      "an option of the environment, or of one benchmark, such as gsm8k.path=...; repeatable",
      append,
      [],
    )
    .option(
      "--opponent <model>",
      "a model to play against, with swapped roles; several give a tournament with ratings; repeatable",
      append,
      [],
    )
    .option("--judge <model>", "the model that judges, if the environment has a judge")
    .option("--judge-requests <n>", "the maximum number of requests to the judge (default: no limit)", positive)
    .option("--judge-price <in/out>", "like --price, for the tokens of the judge", price)
    .option(
      "-o, --output <folder>",
      "the run folder; FILE.json also gets the summary (default: a new folder in runs/eval)",
    )
    .option("--split <split>", "the tasks, such as test[:100] (default: the benchmark's, else test or the first)")
    .option("-l, --limit <n>", "the maximum number of tasks", positive)
    .option("-n, --num-episodes <n>", "the maximum number of episodes (tasks times samples)", positive)
    .option("--samples <n>", "the number of episodes per task (default: 1, or 2 with an opponent)", positive)
    .option("-k, --k <list>", "the k of pass@k and pass^k, such as 1,5,10 (default: 1 and the samples)", counts)
    .addOption(new Option("--format <format>", "the prompt format (default: chat)").choices(["chat", "completion"]))
    .option("--shots <n>", "the number of worked examples in the prompt (default: as published)", wholeNumber)
    .option("--temperature <t>", "the temperature; 0 is greedy (default: 0, or 1 with --samples above 1)", finite)
    .option(
      "--max-tokens <n>",
      "the maximum number of tokens per completion (default: the benchmark's, else 512)",
      positive,
    )
    .option("--concurrency <n>", "the number of concurrent episodes", positive, 64)
    .option("--seed <n>", "the seed of all random choices", wholeNumber, 0)
    .option(
      "--price <in/out>",
      "the price of a million prompt and completion tokens in dollars, such as 0.15/0.6",
      price,
    )
    .option("-r, --resume", "resume the run in the output folder", false)
    .option("--retry-failed", "resume and play failed and unscored episodes again", false)
    .option("--min <metric=value>", "fail if the metric is lower, such as pass@1=0.6; repeatable", append, [])
    .option("--max <metric=value>", "fail if the metric is higher, such as unscored=0; repeatable", append, [])
    .option("--json", "print the summary as JSON", false)
    .action((benchmarks: string[], args: Omit<EvalArguments, "benchmarks">) => commands.eval({ benchmarks, ...args }));
  addModelOptions(evaluation, {
    description: `${modelKinds}, or demonstration; agent=MODEL for each agent (repeatable)`,
    required: true,
  });
  evaluation.option(
    "--backend-url <url>",
    "the Tinker server that samples the model instead of this machine; needed for tinker:// paths",
  );
  addSamplingOptions(evaluation);
  addEnvironmentAlias(evaluation);

  program
    .command("compare")
    .summary("compare two evaluations task by task, or two trainings")
    .description(
      "compare two evaluations on their common tasks (wins, losses, a paired test), or the scores and configs of two trainings",
    )
    .argument("<first>", "the folder of an evaluation")
    .argument("<second>", "another")
    .option("--json", "as JSON", false)
    .action((first: string, second: string, args: { json: boolean }) => commands.compare({ first, second, ...args }));

  program
    .command("rescore")
    .summary("score the episodes of an evaluation again")
    .description("score the recorded episodes of an evaluation again; nothing is sampled")
    .argument("<folder>", "the folder of an evaluation")
    .requiredOption("-o, --output <folder>", "the folder of the new results")
    .option("-e, --env <environment>", "the environment that scores (default: the recorded one)")
    .option(
      "-s, --set <option=value>",
      "an option of the environment that replaces the recorded one; repeatable",
      append,
      [],
    )
    .option("--rubric <file>", "a module that exports a rubric, instead of an environment")
    .option("--judge <model>", "the model that judges, if the environment has a judge")
    .option("--concurrency <n>", "the number of tasks that are scored concurrently", positive, 16)
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
