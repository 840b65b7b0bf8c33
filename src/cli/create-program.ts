import { Command, InvalidArgumentError, Option } from "commander";
import type { ExportDtype } from "../../trainers/backend/training-backend.ts";
import { addCheckCommand, type CheckCommands } from "./check-program.ts";
import { addEvaluationCommands, type EvaluationCommands } from "./eval-program.ts";
import { exitCodeHelp } from "./exit-code.ts";
import { addHelpExamples } from "./help-examples.ts";
import { helpLayout } from "./help-layout.ts";
import { addMigrateCommand, type MigrateCommands } from "./migrate-program.ts";
import { addCollectAliases, addEnvironmentAlias, addServeRefusal, addTrainAliases } from "./old-flag-options.ts";
import { addOverrideOptions } from "./override-options.ts";
import { addSamplingOptions, type SamplingArguments } from "./sampling-options.ts";
import { addViewCommand, type ViewCommands } from "./view-program.ts";

const devices = ["auto", "cpu", "webgpu", "cuda", "coreml", "dml"];

/** What `lyceum train` was told. */
export interface TrainArguments {
  readonly config: string;
  /** `key=value`, in order. */
  readonly set: readonly string[];
  /** `training.epochs`, in place of `training.steps`. */
  readonly numEpochs?: number;
  /** A text is the run, or the checkpoint, to go on with. */
  readonly resume: boolean | string;
  readonly output?: string;
  /** Only look at the rewards before the first step. */
  readonly probe?: boolean;
}

/** What `lyceum init` was told. */
export interface InitArguments {
  /** Of the package, and of its folder. */
  readonly name: string;
}

/** What `lyceum play` was told. */
export interface PlayArguments {
  /** A name, a file or a package. */
  readonly environment: string;
  /** `option=value` of the environment, in order. */
  readonly set: readonly string[];
  /** Whom the person plays; every agent when absent, or none if there is a model. */
  readonly agent?: string;
  /** Plays the other agents. See `ModelArguments`. */
  readonly model?: readonly string[];
  readonly base?: string;
  readonly device: string;
  readonly temperature: number;
  readonly maxTokens: number;
  /** The environment's first split when absent. */
  readonly split?: string;
  /** The place of the task in its split, from 0. */
  readonly task: number;
  readonly seed: number;
}

/** What `lyceum collect` was told. */
export interface CollectArguments extends SamplingArguments {
  /** A name, a file or a package. */
  readonly env: string;
  /** `option=value` of the environment, in order. */
  readonly set: readonly string[];
  readonly policy: "demonstration" | "model";
  /** See `ModelArguments`. */
  readonly model?: readonly string[];
  readonly base?: string;
  /** `option=value` of the model, in order. */
  readonly modelOption: readonly string[];
  readonly device: string;
  /** The environment's first split when absent. */
  readonly split?: string;
  /** The most episodes, rounded up to whole groups; every task when absent. */
  readonly episodes?: number;
  /** Episodes per task. */
  readonly group: number;
  /** The least reward of a conversation that is written; any when absent. */
  readonly minReward?: number;
  readonly output: string;
  readonly resume: boolean;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly concurrency: number;
  readonly seed: number;
}

/** The arguments of `lyceum export`. */
export interface ExportArguments {
  /** What is exported: a folder, a checkpoint, a run or a hub id. */
  readonly model: string;
  readonly output: string;
  /** Adapters are merged into their base. */
  readonly merged: boolean;
  /** What a Hugging Face folder has its weights in; what the model's own files have by default. */
  readonly dtype?: ExportDtype;
  readonly base?: string;
}

/** What `lyceum info` was told. */
export interface InfoArguments {
  /** An environment, an algorithm or a provider; what is here when absent. */
  readonly name?: string;
  readonly json: boolean;
  /** Show every key of a config instead; JSON always has them. */
  readonly keys: boolean;
}

/** What `lyceum report` was told. */
export interface ReportArguments {
  /** The output folder of a run. */
  readonly folder: string;
}

/** What the commands do. A test gives its own, and so tests the parsing alone. */
export interface Commands extends EvaluationCommands, ViewCommands, MigrateCommands, CheckCommands {
  train(args: TrainArguments): Promise<void>;
  report(args: ReportArguments): Promise<void>;
  init(args: InitArguments): Promise<void>;
  play(args: PlayArguments): Promise<void>;
  collect(args: CollectArguments): Promise<void>;
  export(args: ExportArguments): Promise<void>;
  info(args: InfoArguments): Promise<void>;
}

/** The command line of `lyceum`. It throws commander's errors instead of ending the process. */
export function createProgram(commands: Commands, options: { readonly version: string }): Command {
  const program = new Command("lyceum")
    .description("A gymnasium for language models: write environments, train and evaluate models in them.")
    .version(options.version, "-v, --version", "print the version")
    .option("--debug", "show stacks of errors (so does LYCEUM_DEBUG=1)")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp(helpLayout)
    .addHelpText("after", exitCodeHelp)
    .exitOverride();

  const train = program
    .command("train")
    .summary("train a model in an environment")
    .description("train a model in an environment, as a config says")
    .option("-c, --config <file>", "the run, in YAML", "train.yaml")
    .option("-r, --resume [run]", "go on from the newest checkpoint in the output folder, or of the run named", false)
    .option("-o, --output <folder>", "where the run is kept (default: runs/ and the config's name)")
    .option("--probe", "only play a few tasks and show whether their rewards have a signal; nothing is trained or kept")
    .action((args: TrainArguments) => commands.train(args));
  addOverrideOptions(train, { positive, finite });
  addTrainAliases(train);

  program
    .command("report")
    .summary("draw a run's report.html anew")
    .description("draw a run's report.html anew from its metrics.jsonl, also while it goes on or after it was killed")
    .argument("<folder>", "the run's output folder, such as runs/my-run")
    .action((folder: string) => commands.report({ folder }));

  program
    .command("init")
    .summary("write an environment package to start from")
    .description("write an environment package to start from: environment, tasks, tests, a training config")
    .argument("<name>", "of the package and its new folder, such as my-env")
    .action((name: string) => commands.init({ name }));

  addCheckCommand(program, commands, { positive, wholeNumber, append });

  program
    .command("play")
    .summary("act in an environment yourself, or watch a model")
    .description("act in an environment yourself, or watch a model: one episode, its prompts, tools and rewards")
    .argument("<environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .option(
      "-a, --agent <name>",
      "play this agent, and leave the others to the model or the demonstration (default: every agent, or none beside a model)",
    )
    .option(
      "-m, --model <model>",
      `plays the others: ${modelKinds}, or agent=MODEL for each agent (repeatable)`,
      appendFirst,
    )
    .option("--base <model>", baseHelp)
    .addOption(new Option("--device <device>", "what runs the model").choices(devices).default("auto"))
    .option("--temperature <t>", "of the model; 0 is greedy", finite, 1)
    .option("--max-tokens <n>", "the most tokens of one answer of the model", positive, 256)
    .option("--split <split>", "where the task is from, such as test (default: the first)")
    .option("-t, --task <n>", "which task of the split, from 0", wholeNumber, 0)
    .option("--seed <n>", "seeds everything random", wholeNumber, 0)
    .action((environment: string, args: Omit<PlayArguments, "environment">) => commands.play({ environment, ...args }));

  const collect = program
    .command("collect")
    .summary("play tasks and write the conversations to a file")
    .description("play tasks and write the conversations, with their rewards, to a file to train on (JSONL)")
    .requiredOption("-e, --env <environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .addOption(
      new Option("-p, --policy <policy>", "who plays (default: the model, if one is named)").choices([
        "demonstration",
        "model",
      ]),
    )
    .option("-m, --model <model>", `plays: ${modelKinds}, or agent=MODEL for each agent (repeatable)`, appendFirst)
    .option("--base <model>", baseHelp)
    .option("-M, --model-option <option=value>", modelOptionHelp, append, [])
    .addOption(new Option("--device <device>", "what runs the model").choices(devices).default("auto"))
    .option("--split <split>", "the tasks, such as train[:1000] (default: the first split)")
    .option("-n, --episodes <n>", "the most episodes, in whole groups (default: every task)", positive)
    .option("-g, --group <n>", "episodes per task", positive, 1)
    .option("--min-reward <x>", "leave out what earned less", finite)
    .requiredOption("-o, --output <file>", "a new file, such as good.jsonl")
    .option("--resume", "go on with a file that an interrupted collection left", false)
    .option("--temperature <t>", "0 is greedy", finite, 1)
    .option("--max-tokens <n>", "the most tokens of one answer", positive, 256)
    .option("--concurrency <n>", "episodes that are played at once", positive, 64)
    .option("--seed <n>", "seeds everything random", wholeNumber, 0)
    .action((args: Omit<CollectArguments, "policy"> & Partial<Pick<CollectArguments, "policy">>) =>
      commands.collect({ ...args, policy: args.policy ?? (args.model === undefined ? "demonstration" : "model") }),
    );
  addEnvironmentAlias(collect);
  addSamplingOptions(collect, { positive, finite });
  addCollectAliases(collect, { positive, finite });

  addEvaluationCommands(program, commands, {
    positive,
    wholeNumber,
    finite,
    append,
    appendFirst,
    devices,
    modelKinds,
    modelOptionHelp,
    baseHelp,
  });
  addViewCommand(program, commands, { positive });
  addMigrateCommand(program, commands);
  addServeRefusal(program);

  program
    .command("export")
    .summary("write a model to a folder for transformers or peft")
    .description("write a model to a new folder that transformers or peft loads; of a team, a folder for each agent")
    .argument("<model>", "a model's folder, an adapter, a team, a checkpoint, the folder of a run, or a hub id")
    .requiredOption("-o, --output <folder>", "a new folder")
    .option("--merged", "merge adapters into their base (default: an adapter stays an adapter)", false)
    .addOption(
      new Option("--dtype <type>", "of the weights of a whole model (default: that of the model's files)").choices([
        "float32",
        "float16",
        "bfloat16",
      ]),
    )
    .option("--base <model>", baseHelp)
    .action((model: string, args: Omit<ExportArguments, "model">) => commands.export({ model, ...args }));

  program
    .command("info")
    .summary("show what is here, or the options of something")
    .description("show versions, devices and names, or the options of an environment, an algorithm or a provider")
    .argument("[name]", "an environment (also a file or an npm package), an algorithm or a provider of models")
    .option("--keys", "every key of a config that belongs to no environment or algorithm", false)
    .option("--json", "as JSON", false)
    .action((name: string | undefined, args: Omit<InfoArguments, "name">) =>
      commands.info({ ...args, ...(name === undefined ? {} : { name }) }),
    );

  addHelpExamples(program);
  return program;
}

function wholeNumber(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("Expected a whole number from 0 on.");
}

function positive(value: string): number {
  if (wholeNumber(value) > 0) return Number(value);
  throw new InvalidArgumentError("Expected a whole number above 0.");
}

function finite(value: string): number {
  if (value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  throw new InvalidArgumentError("Expected a number.");
}

/** What `--model-option` takes. */
const modelOptionHelp =
  "how the model is opened and asked, such as revision=main, templateVariables.enable_thinking=false or maxRetries=2; repeatable";
/** What `--model` takes. */
const modelKinds = "a folder, hub id, run, checkpoint, provider:model, server's URL or policy file";
const baseHelp = "under an adapter: this folder or hub id, instead of the model that the adapter names";

function appendFirst(value: string, values: readonly string[] | undefined): string[] {
  return [...(values ?? []), value];
}

function append(value: string, values: string[]): string[] {
  return [...values, value];
}
