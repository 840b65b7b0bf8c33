import type { Language } from "../../../sandbox/execution.ts";
import { fenced } from "./code-block.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/**
 * What an agent reads before it tries again, in this order: its first prompt (`originalPrompt`), its own code
 * (`previousResponse`), the feedback unless it is empty, and what to do now.
 */
export function revisionPrompt(
  { originalPrompt, previousResponse }: Pick<CodeTurnOptions, "originalPrompt" | "previousResponse">,
  parts: {
    readonly language: Language;
    readonly original: string;
    readonly code: string;
    readonly feedback: string;
    readonly ask: string;
  },
): string {
  const { language, original, code, feedback, ask } = parts;
  return [
    ...(originalPrompt ? [original] : []),
    ...(previousResponse ? [`Your code:\n\n${fenced(language, code)}`] : []),
    ...(feedback === "" ? [] : [feedback]),
    ask,
  ].join("\n\n");
}

/** Whether a later prompt goes on with the conversation or begins it anew, by the option `history`. */
export function revisionContext({ history }: Pick<CodeTurnOptions, "history">): "append" | "replace" {
  return history === "latest" ? "replace" : "append";
}
