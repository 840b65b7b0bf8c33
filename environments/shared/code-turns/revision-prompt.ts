import type { Language } from "../../../sandbox/execution.ts";
import { fenced } from "./code-block.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/**
 * Returns the prompt of a later turn, in this order: the first prompt (`originalPrompt`), the agent's own code
 * (`previousResponse`), the feedback unless it is empty, and the request.
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

/** Returns whether a later prompt continues the conversation or replaces it, by the option `history`. */
export function revisionContext({ history }: Pick<CodeTurnOptions, "history">): "append" | "replace" {
  return history === "latest" ? "replace" : "append";
}
