import { Argument, Command, Option } from "commander";
import { LyceumError } from "../src/contract/errors/index.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { ExportDtype } from "../trainers/backend/training-backend.ts";
import type { Device } from "../trainers/config/model-config.ts";
import { addCaptureCommand, type CaptureArguments } from "./capture-program.ts";
import type { EngineType } from "./catalog.ts";
import { addCheckCommand, type CheckArguments } from "./check-program.ts";
import {
  addEvaluationCommands,
  type CompareArguments,
  type EvalArguments,
  type RescoreArguments,
} from "./eval-program.ts";
import { exitCodeHelp } from "./exit-code.ts";
import { addExportHarborCommand, type ExportHarborArguments } from "./export-harbor-program.ts";
import { addExportPythonCommand, type ExportPythonArguments } from "./export-python-program.ts";
import { addHelpExamples } from "./help-examples.ts";
import { helpLayout } from "./help-layout.ts";
import { addMigrateCommand, type MigrateArguments } from "./migrate-program.ts";
import { addModelOptions, baseOption, modelKinds } from "./model-options.ts";
import { addCollectAliases, addEnvironmentAlias, addTrainAliases } from "./old-flag-options.ts";
import { append, finite, positive, wholeNumber } from "./option-values.ts";
import { addOverrideOptions } from "./override-options.ts";
import { addPlanCommand, type PlanArguments } from "./plan-program.ts";
import { addSamplingOptions, type SamplingArguments } from "./sampling-options.ts";
import { addServeModelCommand, type ServeModelArguments } from "./serve-model-program.ts";
import { addServeCommand, type ServeArguments } from "./serve-program.ts";
import type { SetupTorchArguments } from "./setup-command.ts";
import type { TorchNodeArguments } from "./torch-node-command.ts";
import { addTorchrunOptions, type TorchrunArguments, withTorchrun } from "./torchrun-options.ts";
import { addViewCommand, type ViewArguments } from "./view-program.ts";

/** The arguments of `lyceum train`. */
export interface TrainArguments {
  readonly config: string;
  /** The overrides as `key=value`, in order. */
  readonly set: readonly string[];
  /** `training.epochs`, instead of `training.steps`. */
  readonly numEpochs?: number;
  /** The run or checkpoint to resume, if it is a string. */
  readonly resume: boolean | string;
  readonly output?: string;
  /** Only measure the rewards before the first step. */
  readonly probe?: boolean;
  /** Only check that sampler and trainer agree. */
  readonly preflight?: boolean;
}

/** The arguments of `lyceum init`. */
export interface InitArguments {
  /** The name of the package and of its folder. */
  readonly name: string;
}

/** The arguments of `lyceum play`. */
export interface PlayArguments {
  /** A name, a file or a package. */
  readonly environment: string;
  /** The options of the environment as `option=value`, in order. */
  readonly set: readonly string[];
  readonly judge?: string;
  /** The agent that the person plays. By default every agent, or none if there is a model. */
  readonly agent?: string;
  /** The model that plays the other agents. See `ModelArguments`. */
  readonly model?: readonly string[];
  readonly base?: string;
  readonly modelOption: readonly string[];
  readonly backend: EngineType;
  readonly device: Device;
  readonly quantize?: 4 | 8 | undefined;
  readonly temperature: number;
  readonly maxTokens: number;
  /** The environment's first split by default. */
  readonly split?: string;
  /** The index of the task in its split, from 0. */
  readonly task: number;
  readonly seed: number;
}

/** The arguments of `lyceum collect`. */
export interface CollectArguments extends SamplingArguments {
  /** A name, a file or a package. */
  readonly env: string;
  /** The options of the environment as `option=value`, in order. */
  readonly set: readonly string[];
  readonly judge?: string;
  readonly policy: "demonstration" | "model";
  /** See `ModelArguments`. */
  readonly model?: readonly string[];
  readonly base?: string;
  /** The options of the model as `option=value`, in order. */
  readonly modelOption: readonly string[];
  readonly backend: EngineType;
  readonly device: Device;
  readonly quantize?: 4 | 8 | undefined;
  /** The environment's first split by default. */
  readonly split?: string;
  /** The maximum number of episodes, rounded up to complete groups. Every task by default. */
  readonly episodes?: number;
  /** Episodes per task. */
  readonly group: number;
  /** The lowest reward of a conversation that is written. No limit by default. */
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
  /** The model to export: a folder, a checkpoint, a run or a hub id. */
  readonly model: string;
  readonly output: string;
  /** True to merge adapters into their base model. */
  readonly merged: boolean;
  /** The data type of the weights in a Hugging Face folder. That of the model's own files by default. */
  readonly dtype?: ExportDtype;
  readonly base?: string;
}

/** The arguments of `lyceum info`. */
export interface InfoArguments {
  /** An environment, an algorithm or a policy. Without it, the command shows what is installed. */
  readonly name?: string;
  readonly json: boolean;
  /** Show all keys of a config instead. JSON output always contains them. */
  readonly keys: boolean;
}

/** The arguments of `lyceum report`. */
export interface ReportArguments {
  /** The output folder of a run. */
  readonly folder: string;
}

/** The functions that run the commands. Tests pass their own functions to test the parsing alone. */
export interface Commands {
  train(args: TrainArguments): Promise<void>;
  plan(args: PlanArguments): Promise<void>;
  report(args: ReportArguments): Promise<void>;
  init(args: InitArguments): Promise<void>;
  check(args: CheckArguments): Promise<void>;
  play(args: PlayArguments): Promise<void>;
  collect(args: CollectArguments): Promise<void>;
  eval(args: EvalArguments): Promise<void>;
  compare(args: CompareArguments): Promise<void>;
  rescore(args: RescoreArguments): Promise<void>;
  view(args: ViewArguments): Promise<void>;
  capture(args: CaptureArguments): Promise<void>;
  serve(args: ServeArguments): Promise<void>;
  serveModel(args: ServeModelArguments): Promise<void>;
  migrate(args: MigrateArguments): Promise<void>;
  export(args: ExportArguments): Promise<void>;
  exportPython(args: ExportPythonArguments): Promise<void>;
  exportHarbor(args: ExportHarborArguments): Promise<void>;
  info(args: InfoArguments): Promise<void>;
  setupTorch(args: SetupTorchArguments): Promise<void>;
  torchNode(args: TorchNodeArguments): Promise<void>;
}

/** Creates the command line of `lyceum`. It throws commander's errors and never ends the process. */
export function createProgram(commands: Commands, options: { readonly version: string }): Command {
  const program = new Command("lyceum")
    .description("A gymnasium for language models: write environments, train and evaluate models in them.")
    .version(options.version, "-v, --version", "print the version")
    .option("--debug", "print the stacks of errors (like LYCEUM_DEBUG=1)")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp(helpLayout)
    .configureOutput({ outputError: (text, write) => write(visibleText(text)) })
    .addHelpText("after", exitCodeHelp)
    .exitOverride()
    .hook("preAction", (_, command) => refuseBlankValues(command));

  const train = program
    .command("train")
    .summary("train a model in an environment")
    .description("train a model in an environment with the settings of a config file")
    .option("-c, --config <file>", "the config file of the run, in YAML", "train.yaml")
    .option("-r, --resume [run]", "resume from the newest checkpoint in the output folder, or of the given run", false)
    .option("-o, --output <folder>", "the run folder (default: runs/ and the name of the config file)")
    .option("--probe", "only play a few tasks and show whether their rewards have a signal; trains and saves nothing")
    .action((args: TrainArguments & TorchrunArguments) => commands.train(withTorchrun<TrainArguments>(args)));
  addOverrideOptions(train);
  addTrainAliases(train);
  addTorchrunOptions(train);

  program
    .command("preflight")
    .summary("check that a model learns from what it samples")
    .description(
      "check, without training, that the sampler and the trainer of a run are one model: ids, masks, log-probabilities, " +
        "an update and its sync. Training makes these checks before its first step.",
    )
    .option("-c, --config <file>", "the config file of the run, in YAML", "train.yaml")
    .option("-s, --set <key=value>", "change a key of the config, such as model.device=cpu; repeatable", append, [])
    .option("-o, --output <folder>", "the run folder, for the models of earlier stages")
    .action((args: Omit<TrainArguments, "resume">) => commands.train({ ...args, resume: false, preflight: true }));

  addPlanCommand(program, commands);

  program
    .command("report")
    .summary("create a run's report.html again")
    .description("create a run's report.html again from its metrics.jsonl, also for running and killed runs")
    .argument("<folder>", "the run folder, such as runs/my-run")
    .action((folder: string) => commands.report({ folder }));

  program
    .command("init")
    .summary("create an environment package")
    .description("create an environment package: environment, tasks, tests and a training config")
    .argument("<name>", "the name of the package and its new folder, such as my-env")
    .action((name: string) => commands.init({ name }));

  addCheckCommand(program, commands);

  const play = program
    .command("play")
    .summary("play an environment yourself, or watch a model")
    .description("play one episode yourself, or watch a model: shows prompts, tools and rewards")
    .argument("<environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .option("--judge <model>", "the model that judges, if the environment has a judge")
    .option(
      "-a, --agent <name>",
      "the agent that you play; the model or the demonstration plays the others (default: all agents, or none with --model)",
    )
    .option("--temperature <t>", "the temperature of the model; 0 is greedy", finite, 1)
    .option("--max-tokens <n>", "the maximum number of tokens per completion", positive, 256)
    .option("--split <split>", "the split of the task, such as test (default: the first)")
    .option("-t, --task <n>", "the index of the task in the split, from 0", wholeNumber, 0)
    .option("--seed <n>", "the seed of all random choices", wholeNumber, 0)
    .action((environment: string, args: Omit<PlayArguments, "environment">) => commands.play({ environment, ...args }));
  addModelOptions(play, {
    description: `the model that plays the other agents: ${modelKinds}, or agent=MODEL for each agent (repeatable)`,
  });

  const collect = program
    .command("collect")
    .summary("play tasks and write the conversations to a file")
    .description("play tasks and write the conversations with their rewards to a training file (JSONL)")
    .requiredOption("-e, --env <environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .option("--judge <model>", "the model that judges, if the environment has a judge")
    .addOption(
      new Option("-p, --policy <policy>", "the policy that plays (default: the model, if one is given)").choices([
        "demonstration",
        "model",
      ]),
    )
    .option("--split <split>", "the tasks, such as train[:1000] (default: the first split)")
    .option("-n, --episodes <n>", "the maximum number of episodes, in complete groups (default: every task)", positive)
    .option("-g, --group <n>", "episodes per task", positive, 1)
    .option("--min-reward <x>", "skip conversations with a lower reward", finite)
    .requiredOption("-o, --output <file>", "a new file, such as good.jsonl")
    .option("--resume", "resume an interrupted collection", false)
    .option("--temperature <t>", "0 is greedy", finite, 1)
    .option("--max-tokens <n>", "the maximum number of tokens per completion", positive, 256)
    .option("--concurrency <n>", "the number of concurrent episodes", positive, 64)
    .option("--seed <n>", "the seed of all random choices", wholeNumber, 0)
    .action((args: Omit<CollectArguments, "policy"> & Partial<Pick<CollectArguments, "policy">>) =>
      commands.collect({ ...args, policy: args.policy ?? (args.model === undefined ? "demonstration" : "model") }),
    );
  addModelOptions(collect, {
    description: `the model that plays: ${modelKinds}, or agent=MODEL for each agent (repeatable)`,
  });
  addEnvironmentAlias(collect);
  addSamplingOptions(collect);
  addCollectAliases(collect);

  addEvaluationCommands(program, commands);
  addCaptureCommand(program, commands);
  addViewCommand(program, commands);
  addMigrateCommand(program, commands);
  addServeCommand(program, commands);
  addServeModelCommand(program, commands);

  program
    .command("export")
    .summary("write a model to a folder for transformers or peft")
    .description("write a model to a new folder for transformers or peft; a team gets a folder for each agent")
    .argument("<model>", "a model's folder, an adapter, a team, a checkpoint, the folder of a run, or a hub id")
    .requiredOption("-o, --output <folder>", "a new folder")
    .option("--merged", "merge adapters into their base model (default: keep adapters)", false)
    .addOption(
      new Option(
        "--dtype <type>",
        "the data type of the weights of a full model (default: that of the model's files)",
      ).choices(["float32", "float16", "bfloat16"]),
    )
    .addOption(baseOption())
    .action((model: string, args: Omit<ExportArguments, "model">) => commands.export({ model, ...args }));

  addExportPythonCommand(program, commands);
  addExportHarborCommand(program, commands);

  program
    .command("setup")
    .summary("install what a backend needs")
    .description("make a Python environment with PyTorch for `--backend torch`; see docs/gpu.md")
    .addArgument(new Argument("<what>", "what to install").choices(["torch"]))
    .addOption(
      new Option(
        "--cuda <version>",
        "the build of PyTorch, which needs uv (default: the one of the package index for this system)",
      ).choices(["12", "13", "cpu"]),
    )
    .option("--python <program>", "the Python that makes the environment", "python3")
    .action((_: string, args: SetupTorchArguments) => commands.setupTorch(args));

  program
    .command("torch-node")
    .summary("start the PyTorch processes of one more machine")
    .description("start the PyTorch processes of one more machine, for a config with `backend.nodes`; see docs/gpu.md")
    .requiredOption("--node <n>", "which of the machines this is; the one that trains is 0", positive)
    .requiredOption("--nodes <n>", "the machines, as in backend.nodes", positive)
    .requiredOption("--rendezvous <address>", "the address and port of the machine that trains")
    .option("--processes <n>", "the processes on this machine, as in backend.processes", positive, 1)
    .option("--python <program>", "the Python that has PyTorch (default: LYCEUM_PYTHON, or that of lyceum setup torch)")
    .action((args: TorchNodeArguments) => commands.torchNode(args));

  program
    .command("info")
    .summary("show what is installed, or the options of an environment, an algorithm or a policy")
    .description("show versions, devices and names, or the options of an environment, an algorithm or a policy")
    .argument("[name]", "an environment (also a file or an npm package), an algorithm or a kind of policy")
    .option("--keys", "show the keys of a config that belong to no environment or algorithm", false)
    .option("--json", "as JSON", false)
    .action((name: string | undefined, args: Omit<InfoArguments, "name">) => commands.info({ ...args, name }));

  addHelpExamples(program);
  return program;
}

/**
 * Refuses options and arguments without text, such as those of `--judge "$UNSET"`, which commands would read as names.
 * Throws `config.invalid`.
 */
function refuseBlankValues(command: Command): void {
  const given = command.options
    .filter((option) => command.getOptionValueSource(option.attributeName()) === "cli")
    .map((option) => ({ name: option.long ?? option.flags, value: command.getOptionValue(option.attributeName()) }));
  const named = command.registeredArguments.map((argument, i) => ({
    name: argument.name(),
    value: command.processedArgs[i] as unknown,
  }));
  const blank = [...given, ...named].find(({ value }) =>
    [value].flat().some((text) => typeof text === "string" && text.trim() === ""),
  );
  if (blank === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${blank.name} has no value: its text is empty.`,
    hint: "Leave it out, or name something. In a shell, the variable may not be set.",
  });
}
