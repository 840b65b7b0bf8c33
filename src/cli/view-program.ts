import { type Command, InvalidArgumentError } from "commander";
import type { SharedOptions } from "./eval-program.ts";

/** What `lyceum view` was told. */
export interface ViewArguments {
  /** A run's folder, or one with runs in it. */
  readonly folder: string;
  /** A free one when absent. */
  readonly port?: number;
  readonly open: boolean;
  /** Write one run to this file in place of serving. */
  readonly export?: string;
  /** The most transcripts of an exported file. */
  readonly episodes: number;
  /** A Hugging Face folder: texts for tokens that were recorded as ids. */
  readonly tokenizer?: string;
}

/** The command that shows runs. */
export interface ViewCommands {
  view(args: ViewArguments): Promise<void>;
}

/** Adds `view`. */
export function addViewCommand(program: Command, commands: ViewCommands, read: Pick<SharedOptions, "positive">): void {
  program
    .command("view")
    .summary("show runs and transcripts on a local web page")
    .description("show evaluations, trainings and their transcripts on a local web page, also while they go on")
    .argument("[folder]", "a run's folder, or one with runs in it", "runs")
    .option("--port <n>", "of the page's address (default: a free one)", port)
    .option("--open", "open the page in a browser", false)
    .option("--export <file>", "write one run to a self-contained file, such as report.html, and end")
    .option("--episodes <n>", "the most transcripts of that file", read.positive, 200)
    .option("--tokenizer <folder>", "texts for tokens recorded as ids (default: the model's, where its folder is here)")
    .action((folder: string, args: Omit<ViewArguments, "folder">) => commands.view({ folder, ...args }));
}

function port(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) > 0 && Number(value) < 65_536) return Number(value);
  throw new InvalidArgumentError("Expected a port from 1 to 65535.");
}
