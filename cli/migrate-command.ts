import { readFile, writeFile } from "node:fs/promises";
import { LyceumError } from "../src/contract/errors/index.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { Catalog } from "./catalog.ts";
import { lostLines, otherCommands, trainCommandLine } from "./migrate/config-text.ts";
import { halfPrecisionNote } from "./migrate/model-settings.ts";
import { migrateConfig } from "./migrate-config.ts";
import type { MigrateArguments } from "./migrate-program.ts";

/**
 * Runs `lyceum migrate`: converts a config of an old system to standard output or to the file `output`, and reports the
 * keys without a counterpart. Throws `data.not-found` if the file cannot be read, and `config.invalid` if the new file
 * exists, or as {@link migrateConfig} does.
 */
export async function migrateCommand(
  args: MigrateArguments,
  options: {
    readonly catalog: Pick<Catalog, "environments" | "algorithms">;
    readonly output: (text: string) => void;
    readonly report: (text: string) => void;
  },
): Promise<void> {
  const { file, output, from, cluster } = args;
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new LyceumError({
      code: "data.not-found",
      message: unreadable(file, error.code),
      hint: "Give the path of a config of MRLM or LLM_Collab, relative to the current folder.",
      data: { path: file },
      cause: error,
    });
  });
  const to = output ?? "NEW.yaml";
  const { converted, yaml } = await migrateConfig({
    text,
    name: file,
    to,
    system: from,
    cluster,
    catalog: options.catalog,
  });
  if (output === undefined) options.output(yaml);
  else await writeNew(output, yaml);
  const { set, lost } = converted;
  const lines = [
    `${file}: ${set.size} keys, ${lost.length === 0 ? "nothing lost" : `${lost.length} without a counterpart:`}`,
    ...lostLines(lost),
    ...(set.get("model.precision") === "float16" ? [`Note: ${halfPrecisionNote}`] : []),
    ...otherCommands(converted).flat(),
    ...(output === undefined ? [] : [`Train with: ${trainCommandLine(output, converted)}`]),
  ];
  (output === undefined ? options.report : options.output)(visibleText(`${lines.join("\n")}\n`));
}

function unreadable(file: string, code: string | undefined): string {
  if (code === "ENOENT") return `There is no file ${file}.`;
  return code === "EISDIR" ? `${file} is a folder.` : `Cannot read ${file}: ${code}.`;
}

async function writeNew(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new LyceumError({
      code: "config.invalid",
      message: `${path} exists already.`,
      hint: "Choose another file with --output, or move this one away.",
      data: { path },
    });
  });
}
