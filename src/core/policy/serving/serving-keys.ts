import { z } from "zod";

const positive = z.number().positive();

/** The keys of a policy file about requests to any server, and the key of its account. */
export const servingKeys = {
  maxConcurrent: z.int().positive().optional().describe("The maximum number of concurrent requests."),
  requestsPerMinute: z.int().positive().optional().describe("The maximum number of requests in 60 seconds."),
  tokensPerMinute: positive.optional().describe("The maximum number of tokens in 60 seconds."),
  timeoutMs: positive.optional().describe("The timeout of one request in milliseconds."),
  maxRetries: z.int().nonnegative().optional().describe("The maximum number of retries after a transient failure."),
  retryDelayMs: positive.optional().describe("The delay before the first retry in milliseconds."),
  maxRetryDelayMs: z.number().nonnegative().optional().describe("The longest delay between retries in milliseconds."),
  maxRetryAfterMs: z
    .number()
    .nonnegative()
    .optional()
    .describe("The longest Retry-After in milliseconds that is accepted."),
  accepts: z
    .array(z.enum(["text", "reasoning", "image"]))
    .optional()
    .describe("The types of content that the model accepts."),
  apiKeyVariable: z
    .string()
    .min(1)
    .optional()
    .describe("The environment variable with the key. By default the provider's usual one, or LYCEUM_API_KEY."),
} as const;
