import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { codeBlocks } from "../docs/code-blocks.ts";
import { commandsOf } from "../docs/shell-commands.ts";

const execute = promisify(execFile);

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
  for (const { text, words, lyceum } of blocks.flatMap(commandsOf)) {
    if (words[0] === "cd") {
      cwd = join(cwd, words[1]!);
      continue;
    }
    const command = [text, ...(shortened[text] === undefined ? [] : [shortened[text]])].join(" ");
    const run = lyceum?.[0] === "view" ? runUntilServed : runWhole;
    outputs.set(text, await run(command, { cwd, environment }));
  }
  return { outputs, project: cwd };
}

interface Place {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
}

async function runWhole(command: string, { cwd, environment }: Place): Promise<string> {
  const running = execute("sh", ["-c", command], { cwd, env: environment, maxBuffer: 1 << 26 });
  running.child.stdin?.end(typed);
  return (await running).stdout;
}

/** Ends a server by Ctrl-C once it has printed its address. */
async function runUntilServed(command: string, { cwd, environment }: Place): Promise<string> {
  const child = spawn("sh", ["-c", `exec ${command}`], { cwd, env: environment, detached: true });
  let output = "";
  for await (const part of child.stdout) {
    output += String(part);
    if (output.includes("http://")) break;
  }
  process.kill(-child.pid!, "SIGINT");
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  return output;
}
