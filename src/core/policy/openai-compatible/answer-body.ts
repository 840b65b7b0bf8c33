import { z } from "zod";
import type { Action } from "../../../contract/action.ts";
import type { TokenUsage } from "../../../contract/policy.ts";
import { contentFiltered, malformed } from "../serving/unusable-answer.ts";

/** A count, such as of tokens, or a token id. */
export const countSchema = z.int().nonnegative();

/** A logprob. Rounding can make it slightly larger than 0. */
export const logprobSchema = z.number().max(1e-3);

/** The schema of an answer's token counts. */
export const usageSchema = z
  .object({
    prompt_tokens: countSchema,
    completion_tokens: countSchema,
    prompt_tokens_details: z.object({ cached_tokens: countSchema.nullish() }).nullish(),
    completion_tokens_details: z.object({ reasoning_tokens: countSchema.nullish() }).nullish(),
  })
  .nullish();

/** Parses the body of an answer. Throws a transient `RequestFailure` if it does not match the schema. */
export function parseAnswer<Schema extends z.ZodType>(body: string, schema: Schema): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw malformed(`is not JSON: ${(cause as Error).message}`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const error = (value as { readonly error?: unknown } | null)?.error;
  if (error !== undefined && error !== null)
    throw malformed(`contains an error: ${JSON.stringify(error).slice(0, 300)}`);
  const [issue] = result.error.issues;
  throw malformed(`is wrong at ${issue!.path.join(".") || "the top"}: ${issue!.message}`);
}

/** Converts the token counts of an answer. */
export function usageOf(usage: z.output<typeof usageSchema>): TokenUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const cached = usage.prompt_tokens_details?.cached_tokens;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens;
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    ...(typeof cached === "number" ? { cachedPromptTokens: cached } : {}),
    ...(typeof reasoning === "number" ? { reasoningTokens: reasoning } : {}),
  };
}

/** Returns the number of tokens with logprobs. Servers do not return logprobs for hidden reasoning. */
export function countedTokens(usage: TokenUsage | undefined): number | undefined {
  return usage === undefined ? undefined : usage.completionTokens - (usage.reasoningTokens ?? 0);
}

/** Converts the finish reason of an answer. Throws a `RequestFailure` if it is unknown. */
export function finishOf(reason: string, calls: boolean): Action["finish"] {
  switch (reason) {
    case "length":
    case "max_tokens":
      return "length";
    case "stop":
    case "eos_token":
    case "stop_sequence":
      return calls ? "tool-calls" : "stop";
    case "tool_calls":
    case "function_call":
      if (calls) return "tool-calls";
      throw malformed("ends by tool calls but contains none");
    case "content_filter":
      throw contentFiltered();
    default:
      throw malformed(`ends by ${JSON.stringify(reason)}`);
  }
}

/**
 * Throws a `RequestFailure` if an empty answer is not a valid one. A model may end its turn immediately, but it then
 * sampled at least the end-of-turn token. If the server reports no usage, the answer is valid if `hasContent` is true:
 * it has content, though an empty one.
 */
export function assertSilent(usage: TokenUsage | undefined, hasContent: boolean): void {
  if (usage === undefined ? !hasContent : usage.completionTokens === 0) throw malformed("contains no message");
}
