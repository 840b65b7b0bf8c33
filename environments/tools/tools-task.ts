import type { Message } from "../../src/contract/message.ts";
import type { Random } from "../../src/core/random/random.ts";

/** A question with one answer, and an expert's solution. */
export interface ToolsTask {
  readonly question: string;
  readonly answer: string;
  /** The tools that must return a result for the full reward. */
  readonly tools: readonly string[];
  /** The kind of a generated task; absent from custom tasks. */
  readonly kind?: string;
  /** The initial files of the episode's folder, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** An expert's messages. The last one is the answer. */
  readonly solution?: readonly (string | Message)[];
}

/** Generates a task of one kind. */
export type TaskGenerator = (random: Random) => ToolsTask;

/** Returns the answer message of an expert. */
export function answerText(answer: string): string {
  return `<answer>${answer}</answer>`;
}
