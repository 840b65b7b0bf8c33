import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";
import { createTinyHub, type TinyHub } from "../examples/tiny-hub.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { isSlowTier } from "../tier.ts";
import { codeBlocks } from "./code-blocks.ts";
import { type Place, runCommand } from "./run-command.ts";
import { runnerOf, shellCommands, slowDocuments } from "./shell-commands.ts";

/**
 * Runs the commands of each document in order in a shell, in a folder of its own, as a reader would. A training takes
 * two steps, completions have at most eight tokens, and models of the hub are tiny.
 */

const short =
  "--set training.steps=2 --set training.batchSize=2 --set sampling.maxTokens=8 --set evaluation='{}' --set preflight=false";
const shortStage = (stage: number): string => short.replaceAll("training.", `stages.${stage}.training.`);
const trained = `lyceum train --config examples/training/arithmetic-sft.yaml ${short.replace("2", "1")}`;
const measured =
  "lyceum eval --env math --set tasks=arithmetic --limit 2 --max-tokens 2 --model models/SmolLM2-135M-Instruct";

/** What the reader of a document has done before its first command. */
const before: Readonly<Record<string, readonly string[]>> = {
  "docs/checkpoints.md": [trained],
  "docs/commands.md": ["lyceum init started", "cp started/environment.ts started/tasks.jsonl ."],
  "docs/evaluate.md": [
    ...["a", "b"].map((name) => `${measured} --output runs/${name}`),
    ...["sft", "grpo"].map((name) => `${trained} --output runs/${name}`),
  ],
  "docs/view.md": [`${measured} --output runs/eval`],
};

/** An environment of the reader's own. */
const debate = `
import { defineParallelEnvironment } from "lyceum";
export const environment = defineParallelEnvironment({
  id: "debate", agents: ["pro", "con"], maxTurns: 1, tasks: ["cats", "dogs"],
  reset: ({ task }) => ({ pro: task, con: task }),
  step: () => ({ rewards: { pro: 1, con: 0 } }),
  demonstrate: () => [{ pro: "yes", con: "no" }],
});
`;

/** The command with settings that shorten it. */
function shortened(text: string): string {
  if (text.includes("--num_epochs")) {
    return `${text} --set tasks.split='test[39:]' --set sampling.maxTokens=2 --model_name models/SmolLM2-135M-Instruct`;
  }
  if (text.includes("--probe")) return `${text} --set sampling.maxTokens=2`;
  if (text.includes("sums/train.yaml")) return `${text} ${[0, 1].map((stage) => shortStage(stage)).join(" ")}`;
  return /\blyceum train\b/.test(text) ? `${text} ${short}` : text.replace(/--max-tokens \d+/, "--max-tokens 8");
}

let hub: TinyHub;
let bin: string;
beforeAll(async () => {
  hub = await createTinyHub();
  bin = temporaryFolder();
  const [hook, main] = ["scripts/import-from-source.ts", "cli/main.ts"].map((path) => join(repository, path));
  const lyceum = `exec "${process.execPath}" --import "${pathToFileURL(hook!).href}" "${main}" "$@"\n`;
  await writeFile(join(bin, "lyceum"), `#!/bin/sh\n${lyceum}`, { mode: 0o755 });
  await writeFile(join(bin, "npx"), `#!/bin/sh\n[ "$1" = lyceum ] || exit 127\nshift\n${lyceum}`, { mode: 0o755 });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
});

const all = (await shellCommands()).filter((command) => runnerOf(command) === "document");
const commands = all.filter(({ block }) => isSlowTier || !slowDocuments.includes(block.document));

describe.each(Object.entries(Object.groupBy(commands, ({ block }) => block.document)))("%s", (document, own = []) => {
  let place: Place;
  beforeAll(async () => {
    const cwd = temporaryFolder();
    const { npm_lifecycle_event: _, ...variables } = process.env;
    const path = [bin, dirname(process.execPath), variables.PATH].join(delimiter);
    place = { cwd, environment: { ...variables, ...hub.environment, PATH: path } };
    await symlink(join(repository, "node_modules"), join(cwd, "node_modules"));
    await symlink(join(repository, "examples"), join(cwd, "examples"));
    await mkdir(join(cwd, "models"));
    await symlink(hub.model, join(cwd, "models/SmolLM2-135M-Instruct"));
    await writeFile(join(cwd, "debate.ts"), debate);
    for (const { file, code } of await codeBlocks(document)) {
      if (file !== undefined) await writeFile(join(cwd, file), code);
    }
    for (const command of before[document] ?? []) await runCommand(command, place);
  });
  afterAll(() => rm(place.cwd, { recursive: true, force: true }));

  test.each(own.map(({ place: at, text }) => [`${at}: ${text}`, text] as const))("%s", async (_, text) => {
    const line = shortened(text).replace(/^npm run lyceum -- /, "lyceum ");
    const where = line.startsWith("npm ") ? { ...place, cwd: repository } : place;
    await runCommand(line, where, { typed: ".\n".repeat(20) });
  });
});

test("what the reader has before is of documents whose commands run", () => {
  const run = new Set(all.map(({ block }) => block.document));
  expect(Object.keys(before).filter((document) => !run.has(document))).toEqual([]);
});
