import { randomBytes } from "node:crypto";
import { z } from "zod";
import { textMessage, textOf } from "../../src/contract/message.ts";
import { integers, listOf, recordOf } from "../../src/core/network/list-schema.ts";
import { sum } from "../../src/core/statistics.ts";
import { createTextRenderer } from "../../src/core/tokens/text-renderer.ts";
import type { StreamEvent } from "../capture/dialects/dialect.ts";
import { parseBody, refuse, samplingOf, samplingShape } from "../capture/dialects/read-request.ts";
import type { ChoicePart } from "./choice-part.ts";
import type { ChoiceToken } from "./choice-token.ts";
import { type Choices, type CompletionCall, choiceShape, topCount } from "./completion-call.ts";
import { type Choice, maxChoices } from "./sample-choices.ts";

const ids = integers
  .refine((list) => list.length > 0, "expected at least one token id")
  .refine((list) => list.every((id) => id >= 0), "a token id is negative");

/** A list of prompts. */
const promptsOf = <Prompt extends z.ZodType>(prompt: Prompt) =>
  z
    .custom<unknown>((list) => Array.isArray(list) && list.length > 0 && list.length <= maxChoices, {
      error: `expected 1 to ${maxChoices} prompts`,
    })
    .pipe(listOf(prompt) as unknown as z.ZodType<z.output<Prompt>[], unknown>);

const schema = z.object({
  model: z.string().default(""),
  prompt: z.union([z.string(), ids, promptsOf(z.string()), promptsOf(ids)]),
  ...samplingShape,
  ...choiceShape,
  max_tokens: z.int().min(1).nullish(),
  stop: z
    .union([
      z.string(),
      listOf(z.string()).refine((stops) => stops.length <= 1024, "expected at most 1,024 stop sequences"),
    ])
    .nullish(),
  seed: z.int().nonnegative().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: topCount,
  return_token_ids: z.boolean().nullish(),
  add_special_tokens: z.boolean().nullish(),
  best_of: z.int().nullish(),
  echo: z.boolean().nullish(),
  suffix: z.string().nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  logit_bias: recordOf(z.number()).nullish(),
});

/** The default of OpenAI's protocol. */
const defaultMaxTokens = 16;

/**
 * Reads the body of `/v1/completions`. The model continues texts or token ids. As in vLLM, the tokenizer's own tokens are
 * put in front of a text unless `add_special_tokens` is false. Control tokens in a text are ordinary text. Throws `server.invalid-request`.
 */
export function textCall(body: unknown): CompletionCall {
  const given = parseBody(body, schema);
  const { prompt, stop, n, return_token_ids: tokenIds } = given;
  refuse("best_of", given.best_of, [n ?? 1]);
  refuse("echo", given.echo, [false]);
  refuse("suffix", given.suffix, [""]);
  refuse("frequency_penalty", given.frequency_penalty, [0]);
  refuse("presence_penalty", given.presence_penalty, [0]);
  refuse("repetition_penalty", given.repetition_penalty, [1]);
  refuse("logit_bias", Object.keys(given.logit_bias ?? {}).length, [0]);
  const frame = {
    id: `cmpl-${randomBytes(12).toString("hex")}`,
    object: "text_completion",
    created: Math.floor(Date.now() / 1000),
    model: given.model,
  };
  const partOf = ({ index, promptIds, isFirst, text, tokens, offset, choice }: Omit<ChoicePart, "reasoning">) => ({
    index,
    text,
    finish_reason: choice?.sample.finish ?? null,
    logprobs:
      given.logprobs === undefined || given.logprobs === null
        ? null
        : {
            tokens: tokens.map((token) => token.text),
            token_logprobs: tokens.map(({ logprob }) => logprob),
            top_logprobs: tokens.map(topMapping),
            text_offset: textOffsets(tokens, offset),
          },
    ...(tokenIds ? { token_ids: tokens.map(({ id }) => id) } : {}),
    ...(tokenIds && isFirst ? { prompt_token_ids: promptIds } : {}),
  });
  const choiceOf = (choice: Choice) =>
    partOf({ ...choice, choice, text: textOf(choice.action.message), isFirst: true, offset: 0 });
  return {
    model: given.model,
    stream: given.stream ?? false,
    request: ({ tokenizer }) => {
      const renderer = createTextRenderer(tokenizer, { addSpecialTokens: given.add_special_tokens ?? true });
      const read = (one: string | readonly number[]): readonly number[] =>
        typeof one === "string" ? renderer.start({ messages: [textMessage("user", one)] }) : one;
      const isOne = typeof prompt === "string" || typeof prompt[0] === "number";
      const prompts = (isOne ? [prompt] : prompt) as readonly (string | readonly number[])[];
      return {
        prompts: prompts.map(read),
        count: n ?? 1,
        sampling: samplingOf(given, {
          maxTokens: given.max_tokens ?? defaultMaxTokens,
          stop: typeof stop === "string" ? [stop] : (stop ?? []),
        }),
        seed: given.seed ?? undefined,
        stopTokenIds: given.stop_token_ids ?? [],
        topLogprobs: given.logprobs ?? 0,
        renderer,
      };
    },
    answer: (choices) => ({ ...frame, choices: choices.map(choiceOf), usage: usageOf(choices, n ?? 1) }),
    partEvents: (part) => [{ data: { ...frame, choices: [partOf(part)] } }],
    endEvents: (choices) => {
      const usage: StreamEvent = { data: { ...frame, choices: [], usage: usageOf(choices, n ?? 1) } };
      return [...(given.stream_options?.include_usage ? [usage] : []), { data: "[DONE]" }];
    },
  };
}

/** Returns the position of each token's text in the completion, in UTF-16 code units. The first one's is `start`. */
function textOffsets(tokens: Choice["tokens"], start: number): number[] {
  let end = start;
  return tokens.map(({ text }) => {
    end += text.length;
    return end - text.length;
  });
}

/**
 * Returns the logprobs of the most likely tokens and of the sampled one by their texts. Of several tokens with one
 * text, the likeliest counts.
 */
function topMapping(token: ChoiceToken): Readonly<Record<string, number>> {
  const mapping = new Map<string, number>();
  // In order of likelihood: a sampled token that is not among the most likely ones comes last.
  for (const { text, logprob } of [...(token.topLogprobs ?? []), token]) {
    if (!mapping.has(text)) mapping.set(text, logprob);
  }
  return Object.fromEntries(mapping);
}

/** Counts each prompt once. */
function usageOf(choices: Choices, perPrompt: number) {
  const firsts = choices.filter(({ index }) => index % perPrompt === 0);
  const promptTokens = sum(firsts.map(({ promptIds }) => promptIds.length));
  const completionTokens = sum(choices.map(({ sample }) => sample.ids.length));
  const cachedTokens = sum(firsts.map(({ sample }) => sample.reusedTokens ?? 0));
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
