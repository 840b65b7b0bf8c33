import type { Command } from "commander";
import { append } from "./option-values.ts";

/** The arguments of `lyceum export-harbor`. */
export interface ExportHarborArguments {
  /** A name, a file or a package. */
  readonly environment: string;
  /** The options of the environment as `option=value`, in order. */
  readonly set: readonly string[];
  /** The environment's first split by default. */
  readonly split?: string;
  /** The base image of the containers. The environment's own by default. */
  readonly image?: string;
  readonly output: string;
}

/** Adds `export-harbor`. */
export function addExportHarborCommand(
  program: Command,
  commands: { exportHarbor(args: ExportHarborArguments): Promise<void> },
): void {
  program
    .command("export-harbor")
    .summary("write an environment's tasks as Harbor task folders")
    .description(
      "write an environment's tasks as Harbor task folders: an instruction, an image, tests that write the reward, and a solution if one is known",
    )
    .argument("<environment>", "a name, a file such as ./environment.ts, or an npm package")
    .option("-s, --set <option=value>", "an option of the environment, such as digits=3; repeatable", append, [])
    .option("--split <split>", "the tasks, such as test[:100] (default: the first split)")
    .option("--image <image>", "the base image of the containers, with bash and Python (default: python:3.13-slim)")
    .requiredOption("-o, --output <folder>", "a new folder, in which each task has a folder")
    .action((environment: string, args: Omit<ExportHarborArguments, "environment">) =>
      commands.exportHarbor({ environment, ...args }),
    );
}
