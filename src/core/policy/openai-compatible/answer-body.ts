import { z } from "zod";
import type { TokenUsage } from "../../../contract/policy.ts";
import { parseMessagesJson } from "../../text/exact-json.ts";
import { isFiltered } from "../serving/finish-reason.ts";
import { malformed } from "../serving/unusable-answer.ts";

/** A count, such as of tokens, or a token id. */
export const countSchema = z.int().nonnegative();

/** A logprob. Rounding can make it slightly larger than 0. */
export const logprobSchema = z.number().max(1e-3);

/** The value of a field that is bookkeeping: undefined if a server writes something else. */
export function lenient<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().catch(undefined);
}

/** The schema of an answer's token counts. A count that is not a whole number is read as absent. */
export const usageSchema = lenient(
  z.object({
    prompt_tokens: lenient(countSchema),
    completion_tokens: lenient(countSchema),
    prompt_tokens_details: lenient(z.object({ cached_tokens: lenient(countSchema) })),
    completion_tokens_details: lenient(z.object({ reasoning_tokens: lenient(countSchema) })),
  }),
);

/** Parses the JSON of an answer. Throws a transient `RequestFailure` if it is not JSON. */
export function parseBody(body: string): unknown {
  try {
    return parseMessagesJson(body, "rounded");
  } catch (cause) {
    throw malformed(`is not JSON: ${(cause as Error).message}`);
  }
}

/** The statuses of the error codes of MiniMax: limits of a minute, the key, the balance, flagged content, parameters. */
const miniMaxStatuses: Readonly<Record<number, number>> = {
  ...{ 1002: 429, 1039: 429, 1004: 401, 2049: 401, 1008: 402, 1026: 400, 1027: 400, 2013: 400 },
};

/**
 * Returns the status of the error that an answer has in place of a completion: OpenRouter, MiniMax and some proxies answer
 * with status 200. 200 if the error has no status. Undefined if the answer has no error.
 */
export function errorStatus(value: unknown): number | undefined {
  const { error, choices, base_resp } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const failed = Number((base_resp as { readonly status_code?: unknown } | null | undefined)?.status_code ?? 0);
  if (failed !== 0) return miniMaxStatuses[failed] ?? 200;
  const [choice] = Array.isArray(choices) ? choices : [];
  const found = error ?? (choice as { readonly error?: unknown } | undefined)?.error;
  if (found === undefined || found === null || found === "") return undefined;
  const code = Number((found as { readonly code?: unknown }).code);
  return Number.isInteger(code) && code >= 400 && code < 600 ? code : 200;
}

/**
 * True if an answer says that the prompt was blocked, in place of a message: Gemini by `promptFeedback` or by the reason of
 * a choice, Azure by `prompt_filter_results`.
 */
export function blocksPrompt(value: unknown): boolean {
  return blockedSchema.safeParse(Array.isArray(value) ? value[0] : value).success;
}

const filterResult = z.object({
  content_filter_results: z
    .record(z.string(), z.unknown())
    .refine((results) => Object.values(results).some((result) => Object(result).filtered === true)),
});

const blockedSchema = z.union([
  z.object({ promptFeedback: z.object({ blockReason: z.string().min(1) }) }),
  z.object({
    choices: z.tuple([z.object({ finish_reason: z.string().refine(isFiltered), message: z.null().optional() })]),
  }),
  z.object({ choices: z.array(z.unknown()).max(0), prompt_filter_results: z.tuple([filterResult], z.unknown()) }),
]);

/** Checks an answer. Throws a transient `RequestFailure` if it does not match the schema. */
export function parseAnswer<Schema extends z.ZodType>(value: unknown, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw malformed(`is wrong at ${issue!.path.join(".") || "the top"}: ${issue!.message}`, undefined, true);
}

/** Converts the token counts of an answer. Undefined if a server counts only some of them. */
export function usageOf(usage: z.output<typeof usageSchema>): TokenUsage | undefined {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage ?? {};
  if (typeof promptTokens !== "number" || typeof completionTokens !== "number") return undefined;
  const cached = usage?.prompt_tokens_details?.cached_tokens;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    promptTokens,
    completionTokens,
    ...(typeof cached === "number" ? { cachedPromptTokens: cached } : {}),
    ...(typeof reasoning === "number" ? { reasoningTokens: reasoning } : {}),
  };
}

/** Returns the number of tokens with logprobs. Servers do not return logprobs for hidden reasoning. */
export function countedTokens(usage: TokenUsage | undefined): number | undefined {
  return usage === undefined ? undefined : usage.completionTokens - (usage.reasoningTokens ?? 0);
}

/**
 * Throws a `RequestFailure` if an empty answer is not a valid one. A model may end its turn immediately, but it then
 * sampled at least the end-of-turn token. If the server reports no usage, the answer is valid if `hasContent` is true:
 * it has content, though an empty one.
 */
export function assertSilent(usage: TokenUsage | undefined, hasContent: boolean): void {
  if (usage === undefined ? !hasContent : usage.completionTokens === 0) {
    throw malformed("contains no message", undefined, true);
  }
}
