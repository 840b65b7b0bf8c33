import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { codeBlocks } from "../docs/code-blocks.ts";
import { runCommand } from "../docs/run-command.ts";
import { commandsOf } from "../docs/shell-commands.ts";

/** Settings that shorten a command of the tutorial, by its text. */
const shortened: Readonly<Record<string, string>> = {
  "npx lyceum train --config grpo.yaml": "--set training.steps=1",
};

/** What a reader types into `play`: an answer, and a line with a dot. */
const typed = "m\n.\na\n.\nj\n.\n";

/**
 * Runs every command of docs/tutorial.md in order, in an empty folder next to the packed file. Returns the standard
 * output of each by its text. Throws for a command that fails.
 */
export async function runTutorial(options: {
  readonly folder: string;
  readonly tarball: string;
  readonly environment: NodeJS.ProcessEnv;
}): Promise<{ readonly outputs: ReadonlyMap<string, string>; readonly project: string }> {
  const { folder, tarball, environment } = options;
  await mkdir(join(folder, "lyceum"));
  await copyFile(tarball, join(folder, "lyceum", basename(tarball)));
  let cwd = join(folder, "start");
  await mkdir(cwd);
  const outputs = new Map<string, string>();
  const blocks = (await codeBlocks("docs/tutorial.md")).filter(({ language }) => language === "sh");
  for (const { text, words } of blocks.flatMap(commandsOf)) {
    if (words[0] === "cd") {
      cwd = join(cwd, words[1]!);
      continue;
    }
    const command = [text, ...(shortened[text] === undefined ? [] : [shortened[text]])].join(" ");
    outputs.set(text, await runCommand(command, { cwd, environment }, { typed }));
  }
  return { outputs, project: cwd };
}
