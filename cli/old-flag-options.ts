import { type Command, Option } from "commander";
import { oldEnvironmentNames } from "./migrate/old-flags.ts";
import { finite, positive } from "./option-values.ts";

/** An alias of an option. It sets the same argument and is hidden in help. */
class AliasOption extends Option {
  readonly #attribute: string;

  constructor(flags: string, attribute: string, read: (value: string) => unknown = (value) => value) {
    super(flags, `the same as --${attribute.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
    this.#attribute = attribute;
    this.argParser(read).hideHelp();
  }

  override attributeName(): string {
    return this.#attribute;
  }
}

/** Adds MRLM's `--environment` to a command that has `--env`. */
export function addEnvironmentAlias(command: Command): void {
  command.addOption(new AliasOption("--environment <environment>", "env", (name) => oldEnvironmentNames[name] ?? name));
}

/** Adds MRLM's `--num-episodes` and `--filter-reward` to `collect`. */
export function addCollectAliases(command: Command): void {
  command
    .addOption(new AliasOption("--num-episodes <n>", "episodes", positive))
    .addOption(new AliasOption("--filter-reward <x>", "minReward", finite));
}

/** Adds `--output_base_dir` of LLM_Collab to `train`. */
export function addTrainAliases(command: Command): void {
  command.addOption(new AliasOption("--output_base_dir <folder>", "output"));
}
