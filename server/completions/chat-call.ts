import { randomBytes, randomInt } from "node:crypto";
import { z } from "zod";
import type { Message } from "../../src/contract/message.ts";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import type { ModelAnswer } from "../capture/dialects/dialect.ts";
import {
  chatCompletion,
  chatEndEvents,
  chatLastEvents,
  chatPartEvent,
  openAIChat,
} from "../capture/dialects/openai-chat.ts";
import { invalidRequest, parseBody } from "../capture/dialects/read-request.ts";
import { type Choices, type CompletionCall, choiceShape, topCount } from "./completion-call.ts";
import type { Choice } from "./sample-choices.ts";

const schema = z.looseObject({ ...choiceShape, top_logprobs: topCount });

/**
 * Reads the body of `/v1/chat/completions`. The model's chat template renders the messages. Throws
 * `server.invalid-request`.
 */
export function chatCall(body: unknown): CompletionCall {
  const { n, stop_token_ids: stopTokenIds, top_logprobs: top, ...single } = parseBody(body, schema);
  const request = openAIChat.read(single, { conversation: () => undefined });
  const topLogprobs = top ?? 0;
  if (topLogprobs > 0 && request.logprobs !== true) {
    throw invalidRequest("top_logprobs needs logprobs: true.", "Set logprobs to true, or omit top_logprobs.");
  }
  const { model } = request;
  const frame = { id: randomBytes(12).toString("hex"), created: Math.floor(Date.now() / 1000), model, request };
  const answerOf = ({ action, tokens, sample, promptIds }: Choice): ModelAnswer => ({
    ...frame,
    promptIds,
    result: {
      action: { ...action, message: withCallIds(action.message) },
      ...answerTokens(promptIds, tokens),
      usage: {
        promptTokens: promptIds.length,
        completionTokens: sample.ids.length,
        cachedPromptTokens: sample.reusedTokens ?? 0,
      },
    },
  });
  const answersOf = (choices: Choices): [ModelAnswer, ...ModelAnswer[]] => {
    const [first, ...more] = choices;
    return [answerOf(first), ...more.map(answerOf)];
  };
  return {
    model: request.model,
    stream: request.stream,
    request: ({ renderer }) => ({
      prompts: [renderer.start(withoutUndefined({ messages: request.messages, tools: request.tools }))],
      count: n ?? 1,
      sampling: request.sampling,
      seed: request.seed,
      stopTokenIds: stopTokenIds ?? [],
      topLogprobs,
      renderer,
      tools: request.tools,
    }),
    answer: (choices) => chatCompletion(answersOf(choices)),
    partEvents: ({ index, promptIds, isFirst, reasoning, text, tokens, choice }) => {
      const part = {
        index,
        isFirst,
        tokens: answerTokens(promptIds, tokens),
        content: text === "" && choice?.action.message.toolCalls !== undefined ? null : text,
        ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
      };
      const sendsTokens = tokens.length > 0 && (request.logprobs || request.tokenIds);
      const isEmpty = !isFirst && text === "" && reasoning === "" && !sendsTokens;
      return [
        ...(isEmpty ? [] : [chatPartEvent({ ...frame, promptIds }, part)]),
        ...(choice === undefined ? [] : chatLastEvents(answerOf(choice), index)),
      ];
    },
    endEvents: (choices) => chatEndEvents(answersOf(choices)),
  };
}

/** Returns sampled tokens in the form of a policy's answer. */
function answerTokens(
  promptIds: readonly number[],
  logprobs: Choice["tokens"],
): Required<Pick<ModelAnswer["result"], "tokens" | "logprobs">> {
  return {
    tokens: {
      extendsPrevious: false,
      newPromptIds: promptIds,
      promptLength: promptIds.length,
      completionIds: logprobs.map(({ id }) => id),
      logprobs: logprobs.map(({ logprob }) => logprob),
      weightsVersion: 0,
    },
    logprobs,
  };
}

/** Renames tool calls, because clients expect unique ids. Some chat templates require nine letters and digits. */
function withCallIds(message: Message): Message {
  if (message.toolCalls === undefined) return message;
  const id = (): string =>
    `call${randomInt(36 ** 5)
      .toString(36)
      .padStart(5, "0")}`;
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: id() })) };
}
