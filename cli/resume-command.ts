import { basename, relative } from "node:path";
import { isJsonObject, type Json } from "../src/contract/json.ts";
import { parseOverride } from "../src/core/config/config-override.ts";
import { withoutSecretValues, withoutUrlSecrets } from "../src/core/text/secrets.ts";
import type { TrainArguments } from "./create-program.ts";

/**
 * Returns the command line that resumes an interrupted run, ready to paste into a shell. Secrets in options become
 * `***` and must be filled in by hand.
 */
export function resumeCommand(options: {
  readonly args: TrainArguments;
  readonly output: string;
  /** How this process was started: `process.argv[1]` and the environment variables that npm sets. */
  readonly script: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): string {
  const { args, output } = options;
  const words = [
    ...programWords(options),
    "train",
    "--config",
    args.config,
    ...args.set.flatMap((override) => ["--set", withoutSecrets(override)]),
    ...(args.numEpochs === undefined ? [] : ["--num-epochs", String(args.numEpochs)]),
    "--output",
    output,
    "--resume",
  ];
  return words.map(quote).join(" ");
}

/** Returns a `--set` option without the secrets in its value. */
function withoutSecrets(option: string): string {
  const parsed = parseOverride(option);
  if ("problem" in parsed) return withoutUrlSecrets(option);
  const { path, value } = parsed.override;
  const nested = path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
  const hidden = withoutSecretValues(nested);
  if (JSON.stringify(hidden) === JSON.stringify(nested)) return option;
  const shown = path.reduce<Json>((outer, key) => (isJsonObject(outer) ? outer[key]! : outer), hidden);
  return `${path.join(".")}=${typeof shown === "string" ? shown : JSON.stringify(shown)}`;
}

function programWords(options: Pick<Parameters<typeof resumeCommand>[0], "script" | "environment">): string[] {
  const { script, environment } = options;
  if (environment.npm_lifecycle_event === "npx") return ["npx", "lyceum"];
  if (environment.npm_lifecycle_event === "lyceum") return ["npm", "run", "lyceum", "--"];
  if (basename(script) === "lyceum") return ["lyceum"];
  return ["node", relative(process.cwd(), script)];
}

/** Quotes a word for a POSIX shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
