import type { Command } from "commander";
import { port, positive } from "./option-values.ts";

/** The arguments of `lyceum view`. */
export interface ViewArguments {
  /** The folder of a run, or a folder with runs in it. */
  readonly folder: string;
  /** A free port by default. */
  readonly port?: number;
  readonly open: boolean;
  /** Write one run to this file instead of serving. */
  readonly export?: string;
  /** The maximum number of transcripts in an exported file. */
  readonly episodes: number;
  /** A Hugging Face folder with the tokenizer for tokens that were recorded as ids. */
  readonly tokenizer?: string;
}

/** Adds `view`. */
export function addViewCommand(program: Command, commands: { view(args: ViewArguments): Promise<void> }): void {
  program
    .command("view")
    .summary("show runs and transcripts on a local web page")
    .description("show evaluations, trainings and their transcripts on a local web page, also while they run")
    .argument("[folder]", "a run's folder, or one with runs in it", "runs")
    .option("--port <n>", "the port of the page (default: a free one)", port)
    .option("--open", "open the page in a browser", false)
    .option("--export <file>", "write one run to a self-contained file, such as report.html, and exit")
    .option("--episodes <n>", "the maximum number of transcripts in that file", positive, 200)
    .option(
      "--tokenizer <folder>",
      "the tokenizer for tokens recorded as ids (default: the model's, if its folder is local)",
    )
    .action((folder: string, args: Omit<ViewArguments, "folder">) => commands.view({ folder, ...args }));
}
