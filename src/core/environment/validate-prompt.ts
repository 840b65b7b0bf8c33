import { describeValue, isPromise } from "../../contract/describe-value.ts";
import { messageProblem } from "../../contract/message-problem.ts";

/** A problem with a value that an author's function returned. The text follows the environment's name. */
export interface ReturnProblem {
  readonly problem: string;
  /** What to return instead. */
  readonly rule: string;
  /** True for NaN and infinity, which a model's answer can cause. */
  readonly isNotFinite?: boolean;
}

const promptRule =
  'A prompt is a text, a message or a list of messages, such as textMessage("user", "..."). Await what is a Promise.';

/**
 * Returns why a value is not a valid prompt, if it is not. `what` names its place, such as `as prompt from reset`.
 */
export function promptProblem(prompt: unknown, what: string): ReturnProblem | undefined {
  if (typeof prompt === "string") return undefined;
  if (typeof prompt !== "object" || prompt === null || isPromise(prompt)) {
    return { problem: `returned ${describeValue(prompt)} ${what}`, rule: promptRule };
  }
  if (!Array.isArray(prompt)) return ofMessage(prompt, what);
  if (prompt.length === 0) return { problem: `returned an empty list ${what}`, rule: promptRule };
  for (const message of prompt) {
    const found = ofMessage(message, what);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns true for an empty prompt: only blanks, no image and no tool call. */
export function isBlankPrompt(prompt: unknown): boolean {
  if (typeof prompt === "string") return prompt.trim() === "";
  return [prompt].flat().every((message) => {
    const { content, toolCalls = [] } = message as { content: readonly { text?: string }[]; toolCalls?: readonly [] };
    return toolCalls.length === 0 && content.every(({ text }) => text !== undefined && text.trim() === "");
  });
}

function ofMessage(message: unknown, what: string): ReturnProblem | undefined {
  const problem = messageProblem(message);
  if (problem === undefined) return undefined;
  const { content } = (typeof message === "object" && message !== null ? message : {}) as { content?: unknown };
  const rule =
    typeof content === "string"
      ? 'The content of a message is a list of parts: textMessage("user", "...") makes one of a text.'
      : 'A message is { role: "system" | "user" | "assistant" | "tool", content: [{ type: "text", text: "..." }] }.';
  return { problem: `returned a message that ${problem} ${what}`, rule };
}
