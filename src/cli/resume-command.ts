import { basename, relative } from "node:path";
import type { TrainArguments } from "./create-program.ts";

/** The command line that goes on with an interrupted run, ready to paste into a shell. */
export function resumeCommand(options: {
  readonly args: TrainArguments;
  readonly output: string;
  /** How this process was started: `process.argv[1]` and the environment that npm sets. */
  readonly script: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): string {
  const { args, output } = options;
  const words = [
    ...programWords(options),
    "train",
    "--config",
    args.config,
    ...args.set.flatMap((override) => ["--set", override]),
    ...(args.numEpochs === undefined ? [] : ["--num-epochs", String(args.numEpochs)]),
    "--output",
    output,
    "--resume",
  ];
  return words.map(quote).join(" ");
}

function programWords(options: Pick<Parameters<typeof resumeCommand>[0], "script" | "environment">): string[] {
  const { script, environment } = options;
  if (environment.npm_lifecycle_event === "npx") return ["npx", "lyceum"];
  if (environment.npm_lifecycle_event === "lyceum") return ["npm", "run", "lyceum", "--"];
  if (basename(script) === "lyceum") return ["lyceum"];
  return ["node", relative(process.cwd(), script)];
}

/** A word as a POSIX shell reads it back. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
