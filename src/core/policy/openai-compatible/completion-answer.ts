import { z } from "zod";
import { textMessage } from "../../../contract/message.ts";
import type { ActResult, TokenLogprob } from "../../../contract/policy.ts";
import { cutAtStop } from "../serving/cut-at-stop.ts";
import { malformed } from "../serving/unusable-answer.ts";
import {
  assertSilent,
  countedTokens,
  countSchema,
  finishOf,
  logprobSchema,
  parseAnswer,
  usageOf,
  usageSchema,
} from "./answer-body.ts";
import { type AnswerContext, answerTokens } from "./answer-tokens.ts";
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
  choices: z.tuple([
    z.object({
      text: z.string(),
      finish_reason: z.string(),
      logprobs: logprobsSchema,
      token_ids: z.array(countSchema).nullish(),
      prompt_token_ids: z.array(countSchema).nullish(),
    }),
  ]),
  usage: usageSchema,
});

/**
 * Parses the body of a text completion. Returns its action and its tokens. Throws a transient `RequestFailure` if the
 * body is not a valid completion or contradicts itself.
 */
export function completionAnswer(body: string, context: AnswerContext): ActResult {
  const { choices, usage: servedUsage } = parseAnswer(body, completionSchema);
  const [{ text, finish_reason, logprobs, token_ids: ids, prompt_token_ids: promptIds }] = choices;
  const usage = usageOf(servedUsage);
  if (text === "") assertSilent(usage, true);
  const message = textMessage("assistant", cutAtStop(text, context.request.sampling.stop));
  return {
    action: { message, finish: finishOf(finish_reason, false) },
    usage,
    ...answerTokens({ sampled: sampledOf(logprobs), ids, promptIds, text, counted: countedTokens(usage) }, context),
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
