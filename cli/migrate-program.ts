import { type Command, Option } from "commander";
import type { Cluster, OldSystem } from "./migrate/old-config.ts";

/** The arguments of `lyceum migrate`. */
export interface MigrateArguments {
  readonly file: string;
  /** Standard output by default. */
  readonly output?: string;
  /** The system that the file belongs to. Detected by default. */
  readonly from?: OldSystem;
  /** What trains a config of several GPUs. */
  readonly cluster: Cluster;
}

/** Adds `migrate`. */
export function addMigrateCommand(
  program: Command,
  commands: { migrate(args: MigrateArguments): Promise<void> },
): void {
  program
    .command("migrate")
    .summary("convert a config of MRLM or LLM_Collab (CoMLRL)")
    .description("convert a training config of MRLM or LLM_Collab (CoMLRL), and list what has no counterpart")
    .argument("<file>", "the old config, in YAML")
    .option("-o, --output <file>", "a new file (default: print it)")
    .addOption(
      new Option("--from <system>", "the system of the config (default: detected)").choices(["mrlm", "llm-collab"]),
    )
    .addOption(
      new Option("--cluster <kind>", "what trains on several GPUs: PyTorch on these machines, or a server of SkyRL")
        .choices(["torch", "skyrl"])
        .default("torch"),
    )
    .action((file: string, args: Omit<MigrateArguments, "file">) => commands.migrate({ file, ...args }));
}
