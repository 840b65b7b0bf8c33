import { type Command, InvalidArgumentError, Option } from "commander";
import { devices } from "../trainers/plan/devices.ts";
import { append, finite, positive } from "./option-values.ts";

/** The arguments of `lyceum plan`. */
export interface PlanArguments {
  readonly config: string;
  /** The overrides as `key=value`, in order. */
  readonly set: readonly string[];
  /** `cpu` for this machine, or the id of a GPU. This machine by default, if the config trains on its processor. */
  readonly device?: string;
  readonly gpus: number;
  /** The price of a GPU, or of this machine, for an hour. */
  readonly price?: number;
  /** A `config.json`, or `key=value,...`. The model's own by default. */
  readonly shape?: string;
  /** Measured on the environment's first tasks by default. */
  readonly promptTokens?: number;
  /** An eighth to the whole of `sampling.maxTokens` by default. */
  readonly completionTokens?: number;
  /** Those of the environment's demonstrations by default, or 1. */
  readonly turns?: number;
  /** The number of trained agents. Those of the environment by default. */
  readonly agents?: number;
  /** The precision on GPUs. */
  readonly precision: "bfloat16" | "float16" | "float32";
  /** Sequences of a micro-batch on one GPU. */
  readonly microBatch: number;
  /** Sequences that one sampler decodes at a time. */
  readonly decodeBatch: number;
  /** True to keep activations on GPUs instead of computing them again. */
  readonly keepActivations: boolean;
  readonly json: boolean;
}

/** Adds `plan`. */
export function addPlanCommand(program: Command, commands: { plan(args: PlanArguments): Promise<void> }): void {
  const known = devices.list().map(({ id }) => id);
  program
    .command("plan")
    .summary("estimate the memory, speed, time and cost of a training")
    .description(
      "estimate the memory, speed, time and cost of a training from its config, as intervals: on this machine, which " +
        "the command measures, or on GPUs (no plan was tested on GPUs)",
    )
    .argument("[config]", "the config file of the run, in YAML", "train.yaml")
    .option("-s, --set <key=value>", "change a key of the config, such as training.steps=100; repeatable", append, [])
    .addOption(new Option("--device <name>", "cpu for this machine, or a GPU").choices(["cpu", ...known]))
    .option("--gpus <n>", "the number of GPUs; several share the model (FSDP)", positive, 1)
    .option("--price <x>", "the price of a GPU, or of this machine, for an hour", price)
    .option("--shape <file>", "the config.json of a model, or its keys: hidden_size=576,num_hidden_layers=30,...")
    .option("--prompt-tokens <n>", "the tokens of a prompt (default: measured on the first tasks)", positive)
    .option(
      "--completion-tokens <n>",
      "the tokens of a completion (default: up to sampling.maxTokens; for SFT, measured on demonstrations)",
      positive,
    )
    .option("--turns <n>", "the turns of an episode (default: those of demonstrations, or 1)", positive)
    .option("--agents <n>", "the number of trained agents (default: those of the environment)", positive)
    .addOption(
      new Option("--precision <type>", "the precision on GPUs")
        .choices(["bfloat16", "float16", "float32"])
        .default("bfloat16"),
    )
    .option("--micro-batch <n>", "the sequences of a micro-batch on one GPU", positive, 4)
    .option("--decode-batch <n>", "the sequences that one sampler decodes at a time", positive, 256)
    .option("--keep-activations", "on GPUs, keep activations instead of computing them again", false)
    .option("--json", "print JSON", false)
    .action((config: string, args: Omit<PlanArguments, "config">) => commands.plan({ config, ...args }));
}

function price(value: string): number {
  if (finite(value) >= 0) return Number(value);
  throw new InvalidArgumentError("Expected a number of at least 0.");
}
