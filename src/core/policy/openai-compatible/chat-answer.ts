import { z } from "zod";
import type { Action, ParseError } from "../../../contract/action.ts";
import type { Part, ToolCall } from "../../../contract/message.ts";
import type { TokenLogprob, TokenUsage } from "../../../contract/policy.ts";
import { callArguments } from "../../tools/call-arguments.ts";
import { cutAtStop } from "../serving/cut-at-stop.ts";
import { finishedBy } from "../serving/finish-reason.ts";
import type { ServedResult } from "../serving/served-policy.ts";
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

const text = z.string().nullish();

const calledSchema = z.object({
  name: z.string().min(1),
  arguments: z.unknown().optional(),
  argumentsJson: z.string().optional(),
});

const toolCallSchema = z.object({ id: lenient(z.union([z.string(), z.number()])), function: calledSchema });

/** A text, the pieces of one, or an object around it. Anything else is no text. */
const looseText: z.ZodType<string | undefined> = z
  .union([
    z.string(),
    z.array(z.object({ text })).transform((pieces) => pieces.map((piece) => piece.text ?? "").join("")),
    z.object({ value: z.string() }).transform(({ value }) => value),
  ])
  .optional()
  .catch(undefined);

/** A part of a content that is a list. Its type may be one that servers will have tomorrow. */
const partSchema = z.preprocess(
  (part) => (typeof part === "string" ? { type: "text", text: part } : part),
  z.object({
    type: lenient(z.string()),
    text: looseText,
    refusal: looseText,
    thinking: looseText,
    reasoning: looseText,
    content: looseText,
  }),
);

/** The types of parts with reasoning. Mistral has `thinking`. */
const thoughtTypes: readonly unknown[] = ["thinking", "reasoning", "reasoning_text", "redacted_thinking"];
/** The types of other parts that are understood. `reference` is a citation. */
const textTypes: readonly unknown[] = ["text", "output_text", "refusal", "reference"];

const contentSchema = z.union([z.string(), z.array(partSchema)]).nullish();

/** The schema of the sampled tokens of an answer. */
export const chatLogprobsSchema = z.array(
  z.object({ token: z.string(), logprob: logprobSchema, id: countSchema.optional() }),
);

/** The schema of a chat completion. Ignores other fields, the role among them. */
const chatSchema = z.object({
  choices: z.tuple([
    z.object({
      finish_reason: lenient(z.string()),
      message: z.object({
        content: contentSchema,
        refusal: text,
        reasoning_content: text,
        reasoning: text,
        tool_calls: z.array(toolCallSchema).nullish(),
        function_call: lenient(calledSchema),
      }),
    }),
  ]),
  usage: usageSchema,
});

/** The schema of the tokens of a chat completion. */
const tokensSchema = z.object({
  choices: z.tuple([
    z.object({
      logprobs: z.object({ content: chatLogprobsSchema.nullish() }).nullish(),
      token_ids: z.array(countSchema).nullish(),
    }),
  ]),
  prompt_token_ids: z.array(countSchema).nullish(),
});

type Choice = z.infer<typeof chatSchema>["choices"][0];

/**
 * Reads a chat completion. Returns its action and its tokens. Throws a transient `RequestFailure` if the value is not a
 * completion or contradicts itself, which is the server's fault. A tool call with arguments that are not JSON is the
 * model's fault. It becomes a parse error of the action. Bookkeeping, such as ids and counts, never fails an answer.
 */
export function chatAnswer(value: unknown, context: AnswerContext): ServedResult {
  const { choices, usage: servedUsage } = parseAnswer(value, chatSchema);
  const [choice] = choices;
  const usage = usageOf(servedUsage);
  const { sampling } = context.request;
  const ended = finishedBy(choice.finish_reason, {
    calls: callsOf(choice).length > 0,
    usage,
    maxTokens: sampling.maxTokens,
  });
  const action = actionFrom({ choice, finish: ended.finish, usage, stop: sampling.stop });
  const tokens = tokensOf(() => {
    const { choices: read, prompt_token_ids: promptIds } = parseAnswer(value, tokensSchema);
    const [{ logprobs, token_ids: ids }] = read;
    const sampled = logprobs?.content?.map(chatLogprob);
    return { sampled, ids, promptIds, text: visibleText(choice), counted: countedTokens(usage) };
  }, context);
  const { finishReason } = ended;
  const { unknown: unknownParts } = textsOf(choice.message.content);
  return {
    ...{ action, usage, ...tokens },
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(unknownParts.length === 0 ? {} : { unknownParts }),
  };
}

/** The calls of a message, in the current form or in that before tools (`function_call`). */
function callsOf({ message: { tool_calls, function_call } }: Choice): readonly z.infer<typeof toolCallSchema>[] {
  if (tool_calls !== null && tool_calls !== undefined && tool_calls.length > 0) return tool_calls;
  return function_call ? [{ id: undefined, function: function_call }] : [];
}

/** The texts of a message's content, and the types of its parts that are not understood. */
function textsOf(content: Choice["message"]["content"]): {
  readonly text: string;
  readonly thinking: string;
  readonly unknown: readonly string[];
} {
  if (typeof content === "string") return { text: content, thinking: "", unknown: [] };
  let all = "";
  let thinking = "";
  const unknown: string[] = [];
  for (const part of content ?? []) {
    const { type, text = "", refusal = "", thinking: thought = "", reasoning = "", content: inner = "" } = part;
    const written = text || refusal || inner;
    if (thoughtTypes.includes(type)) thinking += thought || reasoning || written;
    else {
      thinking += thought || reasoning;
      all += written;
      if (typeof type === "string" && !textTypes.includes(type)) unknown.push(type);
    }
  }
  return { text: all, thinking, unknown };
}

/**
 * The text that the tokens contain at least. The server's parsers for tool calls and reasoning may remove more text.
 */
function visibleText(choice: Choice): string {
  return callsOf(choice).length > 0 ? "" : textsOf(choice.message.content).text;
}

/** Converts a sampled token of the chat protocol. */
export function chatLogprob({ token, logprob, id }: z.output<typeof chatLogprobsSchema>[number]): TokenLogprob {
  return { text: token, logprob: Math.min(0, logprob), ...(id === undefined ? {} : { id }) };
}

function actionFrom(options: {
  readonly choice: Choice;
  readonly finish: Action["finish"];
  readonly usage: TokenUsage | undefined;
  readonly stop: readonly string[] | undefined;
}): Action {
  const { choice, finish, usage, stop } = options;
  const { message } = choice;
  const written = textsOf(message.content);
  const answer = written.text || message.refusal || "";
  const reasoning = message.reasoning_content || message.reasoning || written.thinking;
  const calls = callsOf(choice).length > 0;
  const { toolCalls, parseErrors } = toolCallsOf(choice);
  if (answer === "" && reasoning === "" && !calls) assertSilent(usage, message.content === "");
  const content: Part[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (answer !== "" || toolCalls.length === 0) content.push({ type: "text", text: cutAtStop(answer, stop) });
  return {
    message: { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    finish,
    ...(parseErrors.length === 0 ? {} : { parseErrors }),
  };
}

function toolCallsOf(choice: Choice): {
  readonly toolCalls: readonly ToolCall[];
  readonly parseErrors: readonly ParseError[];
} {
  const toolCalls: ToolCall[] = [];
  const parseErrors: ParseError[] = [];
  for (const [index, { id, function: called }] of callsOf(choice).entries()) {
    const { name, arguments: given, argumentsJson } = called;
    try {
      const known = id === undefined || id === null || id === "" ? `call-${index + 1}` : String(id);
      toolCalls.push({ id: known, name, ...callArguments(given, { argumentsJson }) });
    } catch (error) {
      parseErrors.push({
        message: `The arguments of the call of ${name} are not JSON: ${(error as Error).message}`,
        text: String(given),
      });
    }
  }
  return { toolCalls, parseErrors };
}
