import { type Command, Option } from "commander";
import { LyceumError } from "../src/contract/errors/index.ts";
import { oldEnvironmentNames, oldFlags } from "./migrate/old-flags.ts";
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

/**
 * Adds `--output_base_dir` of LLM_Collab to `train`, and the flags without a counterpart, which throw an error with the
 * reason.
 */
export function addTrainAliases(command: Command): void {
  command.addOption(new AliasOption("--output_base_dir <folder>", "output"));
  for (const { flag, now, note } of oldFlags.filter((old) => old.command === "train")) {
    if (now !== undefined) continue;
    const refuse = (): never => {
      throw new LyceumError({
        code: "config.invalid",
        message: `${flag} has no counterpart: ${note}.`,
        hint: "Omit it. model.device selects the device that runs the model (docs/devices.md).",
        data: { flag },
      });
    };
    command.addOption(new Option(`${flag} <value...>`, note).argParser(refuse).hideHelp());
  }
}
