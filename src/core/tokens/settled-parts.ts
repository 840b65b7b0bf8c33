import type { ToolCallFormat } from "./assistant-text.ts";
import { mayOpenReasoning, reasoningEnds, splitReasoning, withoutUndecidedEnd } from "./split-reasoning.ts";

/** The parts of an unfinished answer that further text cannot change. */
export interface SettledParts {
  readonly reasoning: string;
  readonly text: string;
}

/**
 * Returns the settled parts of an assistant's unfinished text. The reasoning and the text of the finished answer, as
 * `parseAssistantText` returns them, begin with these. Text that may belong to a tag or to a tool call is not settled.
 */
export function settledParts(
  text: string,
  options: { readonly toolCallFormat: ToolCallFormat; readonly startsInReasoning?: boolean },
): SettledParts {
  const { toolCallFormat, startsInReasoning = false } = options;
  if (mayOpenReasoning(text)) return { reasoning: "", text: "" };
  const decided = withoutUndecidedEnd(withoutStartOf(text, reasoningEnds));
  const { reasoning, rest } = splitReasoning(decided, startsInReasoning);
  return { reasoning, text: mayOpenReasoning(rest) ? "" : settledText(rest, toolCallFormat) };
}

function settledText(text: string, format: ToolCallFormat): string {
  // Spaces before a call are removed.
  if (format === "hermes" || format === "xml") return before(text, "<tool_call>").trimEnd();
  if (format === "bytes") return before(text, "<|tool|>");
  // The whole answer is a call, or none of it.
  if (format === "llama" && /^\s*([<{]|$)/.test(text)) return "";
  return text;
}

/** Returns the text before a tag, or before its possible beginning at the end. */
function before(text: string, tag: string): string {
  const at = text.indexOf(tag);
  return at < 0 ? withoutStartOf(text, [tag]) : text.slice(0, at);
}

/** Removes the longest end of a text that is the beginning of one of the tags. */
export function withoutStartOf(text: string, tags: readonly string[]): string {
  const lengths = tags.map((tag) => {
    let length = Math.min(tag.length, text.length);
    while (length > 0 && !tag.startsWith(text.slice(text.length - length))) length -= 1;
    return length;
  });
  return text.slice(0, text.length - Math.max(0, ...lengths));
}
