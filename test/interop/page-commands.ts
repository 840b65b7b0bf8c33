import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { codeBlocks } from "../docs/code-blocks.ts";
import { commandsOf } from "../docs/shell-commands.ts";
import { repository, runProgram } from "../examples/run-program.ts";
import { execute } from "./execute.ts";
import { pythonOf } from "./python-environment.ts";

/**
 * Runs the blocks under a heading of a document, in order: writes its configs, runs each `lyceum` command and each
 * Python block, in `folder` and where `cd` leads. Skips only `npm install`, because the sources of this repository
 * replace the package. Returns the last folder, and the output of each command.
 */
export async function runSection(options: {
  readonly document: string;
  readonly heading: string;
  readonly folder: string;
  /** The folder of the Python environment. */
  readonly python: string;
  readonly variables?: Readonly<Record<string, string>>;
}): Promise<{ readonly folder: string; readonly printed: ReadonlyMap<string, string> }> {
  const { document, heading, python, variables = {} } = options;
  const printed = new Map<string, string>();
  let { folder } = options;
  const blocks = (await codeBlocks(document)).filter((block) => block.heading === heading);
  expect(blocks.length).toBeGreaterThan(0);
  for (const block of blocks) {
    if (block.language === "yaml") await writeFile(join(folder, block.file!), block.code);
    if (block.language === "python") {
      const script = join(folder, "check.py");
      await writeFile(script, block.code);
      await execute(pythonOf(python), [script], { timeoutMs: 600_000, folder, environment: offline });
    }
    for (const { text, words, lyceum } of block.language === "sh" ? commandsOf(block) : []) {
      if (words[0] === "cd") folder = join(folder, words[1]!);
      if (lyceum === undefined) {
        expect(["cd my-env", "npm install"]).toContain(text);
        continue;
      }
      const main = join(repository, "cli/main.ts");
      const result = await runProgram(main, { arguments: lyceum, folder, environment: variables });
      expect(result.code, `${text}\n${result.stderr}`).toBe(0);
      printed.set(text, result.stdout);
    }
  }
  expect(printed.size).toBeGreaterThan(0);
  return { folder, printed };
}

const offline = { HF_HUB_OFFLINE: "1", CUDA_VISIBLE_DEVICES: "", TOKENIZERS_PARALLELISM: "false" };
