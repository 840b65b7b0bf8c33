import { z } from "zod";
import type { Message, Part, ToolCall } from "../../../src/contract/message.ts";
import type { TokenUsage } from "../../../src/contract/policy.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type { Dialect, ModelAnswer, ModelRequest, StreamEvent } from "./dialect.ts";
import { chatLogprobs, type SampledTokens } from "./logprobs.ts";
import { openAIError } from "./openai-error.ts";
import { chatAnswer } from "./openai-message.ts";
import { calledTools, functionTool } from "./openai-tools.ts";
import {
  callArguments,
  imagePart,
  parseBody,
  refuse,
  samplingOf,
  samplingShape,
  withToolNames,
} from "./read-request.ts";

const contentPart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
]);

const content = z.union([z.string(), z.array(contentPart)]);

const toolCall = z.object({
  id: z.string(),
  type: z.literal("function").default("function"),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "developer", "user"]), content, name: z.string().nullish() }),
  z.object({
    role: z.literal("assistant"),
    content: content.nullish(),
    refusal: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.object({ role: z.literal("tool"), content, tool_call_id: z.string() }),
]);

const schema = z.object({
  model: z.string().default(""),
  messages: z.array(message).min(1),
  tools: z.array(functionTool).nullish(),
  tool_choice: z.unknown().optional(),
  ...samplingShape,
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.int().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().nullish(),
  return_token_ids: z.boolean().nullish(),
  n: z.int().nullish(),
  response_format: z.object({ type: z.string() }).nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  functions: z.unknown().optional(),
  audio: z.unknown().optional(),
});

/** OpenAI's chat protocol (`/v1/chat/completions`), with vLLM's `reasoning_content` and `return_token_ids`. */
export const openAIChat: Dialect = {
  name: "openai-chat",
  read: (body) => {
    const given = parseBody(body, schema);
    refuse("n", given.n, [1]);
    refuse("top_logprobs", given.top_logprobs, [0]);
    refuse("response_format", given.response_format?.type, ["text"]);
    refuse("frequency_penalty", given.frequency_penalty, [0]);
    refuse("presence_penalty", given.presence_penalty, [0]);
    refuse("repetition_penalty", given.repetition_penalty, [1]);
    refuse("logit_bias", Object.keys(given.logit_bias ?? {}).length, [0]);
    refuse("functions", given.functions);
    refuse("audio", given.audio);
    const { stop } = given;
    return withoutUndefined<ModelRequest>({
      model: given.model,
      messages: withToolNames(given.messages.map(readMessage)),
      tools: calledTools(given.tools, given.tool_choice),
      sampling: samplingOf(given, {
        maxTokens: given.max_completion_tokens ?? given.max_tokens,
        stop: typeof stop === "string" ? [stop] : (stop ?? []),
      }),
      seed: given.seed ?? undefined,
      stream: given.stream ?? false,
      streamUsage: given.stream_options?.include_usage ?? false,
      logprobs: given.logprobs ?? false,
      tokenIds: given.return_token_ids ?? false,
    });
  },
  answer: (answer) => chatCompletion([answer]),
  events: (answer) => [...chatChoiceEvents(answer), ...chatEndEvents([answer])],
  error: openAIError,
  errorEvent: (error) => ({ data: openAIError(error) }),
};

/** Returns the body of an answer with one or more choices of one prompt. */
export function chatCompletion(answers: readonly [ModelAnswer, ...ModelAnswer[]]): object {
  const [first] = answers;
  return {
    ...frame(first, "chat.completion"),
    choices: answers.map((answer, index) => ({
      index,
      message: { role: "assistant", ...chatAnswer(answer.result.action.message) },
      finish_reason: finishReason(answer),
      logprobs: logprobsOf(answer),
      ...tokenIdsOf(answer),
    })),
    usage: usageOf(answers),
    ...(first.request.tokenIds ? { prompt_token_ids: first.promptIds } : {}),
  };
}

/** A piece of a choice in a stream. */
export interface ChatPart {
  readonly index: number;
  /** True for the first piece of a choice. */
  readonly isFirst: boolean;
  readonly content: string | null;
  readonly reasoning_content?: string;
  /** The tokens of the piece. */
  readonly tokens: SampledTokens;
}

/** Returns the event of a piece of a choice. */
export function chatPartEvent(answer: Omit<ModelAnswer, "result">, part: ChatPart): StreamEvent {
  const { index, isFirst, tokens, ...text } = part;
  const delta = { ...(isFirst ? { role: "assistant" } : {}), ...text };
  const logprobs = logprobsOf({ ...answer, result: tokens });
  const ids = tokenIdsOf({ ...answer, result: tokens });
  return {
    data: {
      ...frame(answer, "chat.completion.chunk"),
      choices: [{ index, delta, finish_reason: null, logprobs, ...ids }],
      ...(isFirst && answer.request.tokenIds ? { prompt_token_ids: answer.promptIds } : {}),
    },
  };
}

/** Returns the events of a choice that is sent as a whole. */
function chatChoiceEvents(answer: ModelAnswer): readonly StreamEvent[] {
  const { tool_calls: _, ...text } = chatAnswer(answer.result.action.message);
  const whole = chatPartEvent(answer, { index: 0, isFirst: true, ...text, tokens: answer.result });
  return [whole, ...chatLastEvents(answer, 0)];
}

/** Returns the last events of a choice in a stream: its tool calls and the reason of its end. */
export function chatLastEvents(answer: ModelAnswer, index: number): readonly StreamEvent[] {
  const chunk = (delta: object, reason: string | null): StreamEvent => ({
    data: { ...frame(answer, "chat.completion.chunk"), choices: [{ index, delta, finish_reason: reason }] },
  });
  const { tool_calls: calls = [] } = chatAnswer(answer.result.action.message);
  return [
    ...calls.map((call, place) => chunk({ tool_calls: [{ index: place, ...call }] }, null)),
    chunk({}, finishReason(answer)),
  ];
}

/** Returns the events that end a stream. */
export function chatEndEvents(answers: readonly [ModelAnswer, ...ModelAnswer[]]): readonly StreamEvent[] {
  const [first] = answers;
  const usage = { data: { ...frame(first, "chat.completion.chunk"), choices: [], usage: usageOf(answers) } };
  return [...(first.request.streamUsage ? [usage] : []), { data: "[DONE]" }];
}

function readMessage(given: z.infer<typeof message>): Message {
  if (given.role === "tool") {
    return { role: "tool", content: readContent(given.content), toolCallId: given.tool_call_id };
  }
  if (given.role !== "assistant") {
    const role = given.role === "user" ? "user" : "system";
    const name = given.name ? { name: given.name } : {};
    return { role, content: readContent(given.content), ...name };
  }
  const reasoning = given.reasoning_content || given.reasoning || "";
  const text = readContent(given.content ?? given.refusal ?? "");
  const calls = (given.tool_calls ?? []).map(readCall);
  return {
    role: "assistant",
    content: [...(reasoning === "" ? [] : [{ type: "reasoning" as const, text: reasoning }]), ...text],
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
  };
}

function readContent(given: z.infer<typeof content>): readonly Part[] {
  if (typeof given === "string") return given === "" ? [] : [{ type: "text", text: given }];
  return given.map((part) => {
    if (part.type === "image_url") return imagePart(part.image_url.url);
    return { type: "text", text: part.type === "text" ? part.text : part.refusal };
  });
}

function readCall({ id, function: called }: z.infer<typeof toolCall>): ToolCall {
  return { id, name: called.name, ...callArguments(called.arguments) };
}

function frame({ id, model, created }: Omit<ModelAnswer, "result">, object: string) {
  return { id: `chatcmpl-${id}`, object, created, model, system_fingerprint: null };
}

function finishReason({ result: { action } }: ModelAnswer): string {
  if (action.finish === "length") return "length";
  return (action.message.toolCalls ?? []).length > 0 ? "tool_calls" : "stop";
}

/** The request of an answer, and its tokens. */
interface AnswerTokens extends Pick<ModelAnswer, "request"> {
  readonly result: SampledTokens;
}

function logprobsOf({ request, result }: AnswerTokens) {
  return request.logprobs ? { content: chatLogprobs(result), refusal: null } : null;
}

/** vLLM's field for the sampled ids of a choice. */
function tokenIdsOf({ request, result: { tokens } }: AnswerTokens): object {
  return request.tokenIds && tokens !== undefined ? { token_ids: tokens.completionIds } : {};
}

/** Returns the token counts of answers to one prompt. */
function usageOf(answers: readonly [ModelAnswer, ...ModelAnswer[]]) {
  const usages = answers.map(({ result: { usage } }) => usage);
  const sum = (count: (usage: TokenUsage) => number | undefined): number =>
    usages.reduce((total, usage) => total + ((usage && count(usage)) ?? 0), 0);
  const promptTokens = usages[0]?.promptTokens ?? 0;
  const completionTokens = sum((usage) => usage.completionTokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: usages[0]?.cachedPromptTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: sum((usage) => usage.reasoningTokens) },
  };
}
