import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "../examples/run-program.ts";
import { blocksOf, type CodeBlock } from "./code-blocks.ts";

/** A line of a shell block. */
export interface ShellCommand {
  readonly block: CodeBlock;
  /** `DOCUMENT:LINE` of the block. */
  readonly place: string;
  readonly text: string;
  /** The words of the line without quotes. Nothing is expanded. */
  readonly words: readonly string[];
  /** The arguments of `lyceum`, however it is started. Undefined for another program. */
  readonly lyceum: readonly string[] | undefined;
}

/** Returns every command of the documents, in order. */
export async function shellCommands(): Promise<readonly ShellCommand[]> {
  return (await blocksOf("sh")).flatMap(commandsOf);
}

/** Returns the commands of a shell block, in order. */
export function commandsOf(block: CodeBlock): ShellCommand[] {
  const lines = block.code.trim().split(/\n| && /);
  return lines.map((text) => {
    const words = wordsOf(text);
    return { block, place: `${block.document}:${block.line}`, text, words, lyceum: lyceumOf(words) };
  });
}

function wordsOf(text: string): string[] {
  const words = text.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}

function lyceumOf(words: readonly string[]): readonly string[] | undefined {
  if (words[0] === "lyceum") return words.slice(1);
  if (words[0] === "npx" && words[1] === "lyceum") return words.slice(2);
  if (words.slice(0, 4).join(" ") === "npm run lyceum --") return words.slice(4);
  return undefined;
}

/** The test that runs a command, or what else does. */
export type Runner =
  /** A step of `.ci/run`. */
  | "ci"
  /** The command is the test suite, or names files of it. */
  | "suite"
  /** `test/package`: what a new user does with the packed file. */
  | "package"
  /** `test/interop/round-trip.test.ts` */
  | "interop"
  /** `model-commands.sampled.test.ts`: with the models that trainings left. */
  | "models"
  /** `shell-documents.sampled.test.ts`: as the document has it. */
  | "document";

/** The documents whose commands train several models each. Their commands run in the slow tier. */
export const slowDocuments: readonly string[] = [
  "docs/checkpoints.md",
  "docs/evaluate.md",
  "docs/planning.md",
  "docs/recipes.md",
  "docs/round-trip.md",
  "docs/training.md",
  "docs/view.md",
];

const tutorial = (await blocksOf("sh")).filter(({ document }) => document === "docs/tutorial.md").flatMap(commandsOf);
const ci = (await readFile(join(repository, ".ci/run"), "utf8")).split("\n").map((line) => line.trim());

/** Who runs a command; undefined if nobody does. */
export function runnerOf(command: ShellCommand): Runner | undefined {
  const { block, text, words, lyceum } = command;
  if (block.notRun !== undefined) return undefined;
  if (block.document === "docs/install.md" || repeatsTutorial(block)) return "package";
  if (ci.some((line) => line.startsWith(`step ${text} `) || new RegExp(`^(step|tests \\w+) ${text}$`).test(line)))
    return "ci";
  const [program, ...rest] = words.filter((word) => !/^[A-Z_]+=/.test(word));
  const isAll = rest.slice(0, 3).join(" ") === "run test:all --";
  if (program === "npm" && (isAll || rest[0] === "test")) {
    return rest.slice(isAll ? 3 : 2).every((file) => existsSync(join(repository, file))) ? "suite" : undefined;
  }
  if (block.document === "docs/round-trip.md" && block.heading === "One agent") return "interop";
  if (lyceum === undefined) return undefined;
  return takesModel(lyceum) && block.document !== "docs/round-trip.md" ? "models" : "document";
}

/** True if the tutorial has the commands of a block in the same order. */
export function repeatsTutorial(block: CodeBlock): boolean {
  let next = 0;
  for (const { text } of commandsOf(block)) {
    next = tutorial.findIndex((command, index) => index >= next && command.text === text) + 1;
    if (next === 0) return false;
  }
  return true;
}

/** Options of `lyceum` that take a model. */
export const modelOptions: readonly string[] = ["--model", "-m", "--opponent", "--judge", "--model_name"];
/** Keys of a config that take a model. */
export const modelKeys: RegExp = /^(model|model\.path|agents\.policies\.\w+)=/;

/** True if a command needs a model that someone trained or published. The policy of a module needs none. */
export function takesModel(words: readonly string[]): boolean {
  return (
    words[0] === "export" ||
    words.some((word, place) => modelOptions.includes(word) && !words[place + 1]?.endsWith(".ts")) ||
    (words[0] === "train" && words.some((word) => modelKeys.test(word)))
  );
}
