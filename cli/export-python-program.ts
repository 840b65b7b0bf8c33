import type { Command } from "commander";
import { append } from "./option-values.ts";

/** The arguments of `lyceum export-python`. */
export interface ExportPythonArguments {
  /** A name, a file or a package. */
  readonly environment: string;
  /** The options of the environment as `option=value`, in order. */
  readonly set: readonly string[];
  readonly output: string;
  /** The name of the package. `lyceum-` and the id of the environment by default. */
  readonly name?: string;
  /** True for the layout of a Hugging Face Space. */
  readonly space: boolean;
}

/** Adds `export-python`. */
export function addExportPythonCommand(
  program: Command,
  commands: { exportPython(args: ExportPythonArguments): Promise<void> },
): void {
  program
    .command("export-python")
    .summary("write a Python package for the trainers that use an environment's server")
    .description(
      "write a Python package for an environment on a server: a typed client, and modules for TRL, verifiers or PettingZoo",
    )
    .argument("<environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .requiredOption("-o, --output <folder>", "a new folder")
    .option("--name <name>", "the name of the package (default: lyceum- and the environment's id)")
    .option("--space", "add what a Hugging Face Space of the server needs", false)
    .action((environment: string, args: Omit<ExportPythonArguments, "environment">) =>
      commands.exportPython({ environment, ...args }),
    );
}
