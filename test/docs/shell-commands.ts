import { blocksOf, type CodeBlock } from "./code-blocks.ts";

/** A line of a shell block. */
export interface ShellCommand {
  readonly block: CodeBlock;
  /** `DOCUMENT:LINE` of the block. */
  readonly place: string;
  readonly text: string;
  /** The words of the line, quotes taken off; nothing is expanded. */
  readonly words: readonly string[];
  /** The arguments of `lyceum`, however it is started; undefined for another program. */
  readonly lyceum: readonly string[] | undefined;
}

/** Every command of the documents, in order. */
export async function shellCommands(): Promise<readonly ShellCommand[]> {
  return (await blocksOf("sh")).flatMap(commandsOf);
}

/** The commands of a shell block, in order. */
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
