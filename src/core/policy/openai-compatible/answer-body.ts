import { z } from "zod";
import type { Action } from "../../../contract/action.ts";
import type { TokenUsage } from "../../../contract/policy.ts";
import { contentFiltered, malformed } from "../serving/unusable-answer.ts";

/** A count, such as of tokens, or a token's id. */
export const countSchema: z.ZodType<number> = z.int().nonnegative();

/** Rounding puts the probability of a certain token a little above 1. */
export const logprobSchema: z.ZodType<number> = z.number().max(1e-3);

/** What servers say of the tokens of an answer, at either endpoint. */
interface ServedUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null | undefined } | null | undefined;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null | undefined } | null | undefined;
}

/** Checks it. */
export const usageSchema: z.ZodType<ServedUsage | null | undefined> = z
  .object({
    prompt_tokens: countSchema,
    completion_tokens: countSchema,
    prompt_tokens_details: z.object({ cached_tokens: countSchema.nullish() }).nullish(),
    completion_tokens_details: z.object({ reasoning_tokens: countSchema.nullish() }).nullish(),
  })
  .nullish();

/** The body of an answer as the schema has it. Throws a transient `RequestFailure` for anything else. */
export function parseAnswer<Schema extends z.ZodType>(body: string, schema: Schema): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw malformed(`is no JSON: ${(cause as Error).message}`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const error = (value as { readonly error?: unknown } | null)?.error;
  if (error !== undefined && error !== null) throw malformed(`holds an error: ${JSON.stringify(error).slice(0, 300)}`);
  const [issue] = result.error.issues;
  throw malformed(`is wrong at ${issue!.path.join(".") || "the top"}: ${issue!.message}`);
}

/** The usage that an answer tells. */
export function usageOf(usage: ServedUsage | null | undefined): TokenUsage | undefined {
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

/** The tokens of an answer that have log-probabilities. No server returns them for hidden reasoning. */
export function countedTokens(usage: TokenUsage | undefined): number | undefined {
  return usage === undefined ? undefined : usage.completionTokens - (usage.reasoningTokens ?? 0);
}

/** How an action ended, by the reason that servers give. Throws a `RequestFailure` for one that there is not. */
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
      throw malformed("ends by tool calls and holds none");
    case "content_filter":
      throw contentFiltered();
    default:
      throw malformed(`ends by ${JSON.stringify(reason)}`);
  }
}

/**
 * Throws a `RequestFailure` where an answer without a word is none. A model may end its turn at once, but then it has
 * sampled that end; `said` is whether a server that counts no tokens sent an answer at all.
 */
export function assertSilent(usage: TokenUsage | undefined, said: boolean): void {
  if (usage === undefined ? !said : usage.completionTokens === 0) throw malformed("holds no message");
}
