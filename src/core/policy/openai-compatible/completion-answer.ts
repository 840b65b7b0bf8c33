import { z } from "zod";
import { textMessage } from "../../../contract/message.ts";
import type { ActResult, TokenLogprob } from "../../../contract/policy.ts";
import { cutAtStop } from "../serving/cut-at-stop.ts";
import { finishedBy } from "../serving/finish-reason.ts";
import { malformed } from "../serving/unusable-answer.ts";
import {
  assertSilent,
  countedTokens,
  countSchema,
  lenient,
  logprobSchema,
  parseAnswer,
  usageOf,
  usageSchema,
} from "./answer-body.ts";
import { type AnswerContext, tokensOf } from "./answer-tokens.ts";
import { chatLogprob, chatLogprobsSchema } from "./chat-answer.ts";

/** Two lists (OpenAI, vLLM), or the form of the chat protocol (llama.cpp). */
const logprobsSchema = z
  .object({
    tokens: z.array(z.string()).nullish(),
    token_logprobs: z.array(logprobSchema).nullish(),
    content: chatLogprobsSchema.nullish(),
  })
  .nullish();

/** The schema of a text completion. Ignores other fields. */
const completionSchema = z.object({
  choices: z.tuple([z.object({ text: z.string(), finish_reason: lenient(z.string()) })]),
  usage: usageSchema,
});

/** The schema of the tokens of a text completion. */
const tokensSchema = z.object({
  choices: z.tuple([
    z.object({
      logprobs: logprobsSchema,
      token_ids: z.array(countSchema).nullish(),
      prompt_token_ids: z.array(countSchema).nullish(),
    }),
  ]),
});

/**
 * Reads a text completion. Returns its action and its tokens. Throws a transient `RequestFailure` if the value is not a
 * completion or contradicts itself.
 */
export function completionAnswer(value: unknown, context: AnswerContext): ActResult {
  const { choices, usage: servedUsage } = parseAnswer(value, completionSchema);
  const [{ text, finish_reason }] = choices;
  const usage = usageOf(servedUsage);
  const { stop, maxTokens } = context.request.sampling;
  const { finish, finishReason } = finishedBy(finish_reason, { calls: false, usage, maxTokens });
  if (text === "") assertSilent(usage, true);
  const tokens = tokensOf(() => {
    const [{ logprobs, token_ids: ids, prompt_token_ids: promptIds }] = parseAnswer(value, tokensSchema).choices;
    return { sampled: sampledOf(logprobs), ids, promptIds, text, counted: countedTokens(usage) };
  }, context);
  return {
    action: { message: textMessage("assistant", cutAtStop(text, stop)), finish },
    usage,
    ...(finishReason === undefined ? {} : { finishReason }),
    ...tokens,
  };
}

function sampledOf(logprobs: z.infer<typeof logprobsSchema>): readonly TokenLogprob[] | undefined {
  const { tokens, token_logprobs: values, content } = logprobs ?? {};
  if (content) return content.map(chatLogprob);
  if (!tokens || !values) return undefined;
  if (tokens.length !== values.length) {
    throw malformed(`has ${tokens.length} tokens and ${values.length} log-probabilities`);
  }
  return tokens.map((text, index) => ({ text, logprob: Math.min(0, values[index]!) }));
}
