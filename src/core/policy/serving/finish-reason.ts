import type { Action } from "../../../contract/action.ts";
import type { TokenUsage } from "../../../contract/policy.ts";
import { contentFiltered, malformed } from "./unusable-answer.ts";

/** How an answer ended. */
export interface FinishedBy {
  readonly finish: Action["finish"];
  /** The server's own word, if it is not a known one. */
  readonly finishReason?: string;
}

/** The words of servers and providers, in lower case with `_`. */
const kinds: readonly (readonly [kind: "length" | "stop" | "calls" | "filter" | "failed", words: RegExp])[] = [
  [
    "length",
    /^(length|max_tokens|max_length|max_output_tokens|max_new_tokens|max_completion_tokens|max_tokens_(exceeded|reached)|model_length|token_limit|(model_)?context_(window|length)_exceeded)$/,
  ],
  [
    "stop",
    /^(stop|eos|eos_token|eos_found|stop_sequence|stop_str(ing)?|stop_token|end_turn|end|complete|completed|done|finish|finished)$/,
  ],
  ["calls", /^(tool_calls?|tool_use|function_calls?)$/],
  [
    "filter",
    /^(content_filter.*|refusal|safety|sensitive|recitation|blocklist|prohibited_content|image_safety|language|spii|guardrail_intervened)$/,
  ],
  ["failed", /^(error.*|abort|aborted|cancelled|canceled|failed|network_error|insufficient_system_resource)$/],
];

/** A server's word, in the form of the table. */
function wordOf(reason: string | null | undefined): string {
  return (reason ?? "")
    .trim()
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toLowerCase()
    .replace(/[- ]/g, "_")
    .replace(/^finish_reason_/, "");
}

function kindOf(word: string) {
  return kinds.find(([, words]) => words.test(word))?.[0];
}

/** True if the reason is that of a content filter. */
export function isFiltered(reason: string): boolean {
  return kindOf(wordOf(reason)) === "filter";
}

/**
 * Reads why an answer ended. A missing or an unknown reason is bookkeeping: the answer then counts as cut off if it has
 * as many tokens as it may have, else as complete. Throws a `RequestFailure` if a filter or a failure of the server
 * ended it.
 */
export function finishedBy(
  reason: string | null | undefined,
  answer: { readonly calls: boolean; readonly usage: TokenUsage | undefined; readonly maxTokens: number },
): FinishedBy {
  const { calls, usage, maxTokens } = answer;
  const word = wordOf(reason);
  const kind = kindOf(word);
  const complete = calls ? "tool-calls" : "stop";
  switch (kind) {
    case "filter":
      throw contentFiltered();
    case "failed":
      throw malformed(`ends by ${JSON.stringify(reason)}`);
    case "length":
      return { finish: "length" };
    case "stop":
    case "calls":
      return { finish: complete };
    case undefined: {
      const finish = !calls && (usage?.completionTokens ?? 0) >= maxTokens ? "length" : complete;
      return /^(|null|none|unknown|other|unspecified)$/.test(word) ? { finish } : { finish, finishReason: reason! };
    }
  }
}
