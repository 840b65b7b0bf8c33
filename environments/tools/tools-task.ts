import type { Message } from "../../src/contract/message.ts";
import type { Random } from "../../src/core/random/random.ts";

/** A question with one answer, and how an expert comes to it. */
export interface ToolsTask {
  readonly question: string;
  readonly answer: string;
  /** Names of the tools that must give a result for the whole reward. */
  readonly tools: readonly string[];
  /** What kind of generated task it is; absent from tasks of one's own. */
  readonly kind?: string;
  /** Files in the episode's folder when it begins, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** An expert's messages, the answer last. */
  readonly solution?: readonly (string | Message)[];
}

/** Makes a task of one kind. */
export type TaskGenerator = (random: Random) => ToolsTask;

/** An answer of an expert. */
export function answerText(answer: string): string {
  return `<answer>${answer}</answer>`;
}
